// Products of bfloat16 on a CPU in few numbers of rows: oneDNN compiles each for its numbers of
// rows and columns, for half a millisecond, and the number of tokens or targets is another one in
// every step. T rows.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <bit>
#include <cstdint>

namespace roformer {

// rows [T, in] bfloat16 -> [T, columns]. `multiply(product, part)` fills a product of some rows.
// The numbers of rows that it sees are multiples of 64, and powers of two for the rest, which is
// padded.
template <typename Multiply>
at::Tensor multiply_in_few_counts(const at::Tensor& rows, std::int64_t columns,
                                  const Multiply& multiply) {
  constexpr std::int64_t kTogether = 64;
  const std::int64_t count = rows.size(0), rest = count % kTogether, whole = count - rest;
  const auto padded =
      rest == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rest)));
  at::Tensor product = at::empty({whole + padded, columns}, rows.options());
  const auto fill = [&](std::int64_t begin, const at::Tensor& from) {
    at::Tensor part = product.narrow(0, begin, from.size(0));
    multiply(part, from);
  };
  if (whole > 0) fill(0, rows.narrow(0, 0, whole));
  if (rest == 0) return product;
  at::Tensor last = rows.narrow(0, whole, rest);
  if (padded > rest) {
    const at::Tensor wider = at::zeros({padded, rows.size(1)}, rows.options());
    wider.narrow(0, 0, rest).copy_(last);
    last = wider;
  }
  fill(whole, last);
  return product.narrow(0, 0, count);
}

}  // namespace roformer
