#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/inference_weights.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {
namespace {

// total[ids[t], :] += rows[t, :]. LibTorch's index_add_ takes one row after the other; here each
// thread has its own columns, so that the order of the sums does not depend on their number.
void add_rows(at::Tensor total, const at::Tensor& ids, const at::Tensor& rows) {
  if (!runs_loops(total)) {
    total.index_add_(0, ids, rows);
    return;
  }
  with_type(total.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t count = ids.numel(), width = total.size(1);
    const at::Tensor source = rows.contiguous();
    const auto* const id = ids.const_data_ptr<std::int64_t>();
    const T* const from = source.const_data_ptr<T>();
    T* const to = total.mutable_data_ptr<T>();
    constexpr std::int64_t kColumns = 64;
    at::parallel_for(0, (width + kColumns - 1) / kColumns, 1, [&](std::int64_t a, std::int64_t b) {
      const std::int64_t begin = a * kColumns, end = std::min(width, b * kColumns);
      for (std::int64_t t = 0; t < count; ++t) {
        T* const row = to + id[t] * width;
        const T* const added = from + t * width;
        for (std::int64_t c = begin; c < end; ++c) row[c] += added[c];
      }
    });
  });
}

// In multiples of kRowsTogether, and the rest: on a CPU a power of two, with zeros behind it.
// rows [T, in] * matrix [in, out] -> [T, out]
at::Tensor multiply_rows(const at::Tensor& rows, const at::Tensor& matrix) {
  const std::int64_t count = rows.size(0), rest = count % kRowsTogether, whole = count - rest;
  if (rest == 0) return at::mm(rows, matrix);
  if (!runs_loops(rows)) {
    if (whole == 0) return at::mm(rows, matrix);
    const at::Tensor product = at::empty({count, matrix.size(1)}, rows.options());
    for (const auto& [begin, size] : {std::pair{std::int64_t{0}, whole}, {whole, rest}}) {
      at::Tensor part = product.narrow(0, begin, size);
      at::mm_out(part, rows.narrow(0, begin, size), matrix);
    }
    return product;
  }
  if (rows.scalar_type() != at::kBFloat16) return at::mm(rows, matrix);
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rest)));
  if (whole == 0 && padded == rest) return at::mm(rows, matrix);
  const at::Tensor product = at::empty({whole + padded, matrix.size(1)}, rows.options());
  const auto fill = [&](std::int64_t begin, std::int64_t size, const at::Tensor& from) {
    at::Tensor part = product.narrow(0, begin, size);
    at::mm_out(part, from, matrix);
  };
  if (whole > 0) fill(0, whole, rows.narrow(0, 0, whole));
  const at::Tensor last = at::zeros({padded, rows.size(1)}, rows.options());
  last.narrow(0, 0, rest).copy_(rows.narrow(0, whole, rest));
  fill(whole, padded, last);
  return product.narrow(0, 0, count);
}

}  // namespace

at::Tensor project(const at::Tensor& x, const at::Tensor& weight) {
  if (const InferenceWeights* const prepared = InferenceWeights::in_use()) {
    if (at::Tensor product = prepared->project(x, weight); product.defined()) return product;
  }
  GradientRecorder recorder("products/project", {x, weight});
  const at::Tensor typed = weight.to(x.scalar_type());
  const bool x_wanted = recorder.wanted(0), weight_wanted = recorder.wanted(1);
  return recorder.finish(multiply_rows(x, typed.t()),
                         [=, x = x.detach()](const Gradients& gradients) -> Gradients {
                           const at::Tensor gradient = gradients[0].contiguous();
                           at::Tensor x_gradient, weight_gradient;
                           if (x_wanted) x_gradient = multiply_rows(gradient, typed);
                           if (weight_wanted) {
                             at::Tensor total = weight.grad();
                             if (total.defined()) {
                               add_transposed_product(total, gradient, x);
                             } else {
                               weight_gradient = at::mm(gradient.t(), x).to(weight.scalar_type());
                             }
                           }
                           return {x_gradient, weight_gradient};
                         });
}

at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids) {
  GradientRecorder recorder("embedding/rows", {table});
  return recorder.finish(at::index_select(table, 0, ids),
                         [table, ids](const Gradients& gradients) -> Gradients {
                           at::Tensor total = table.grad();
                           const bool direct = total.defined();
                           if (!direct) total = at::zeros_like(table);
                           add_rows(total, ids, gradients[0].to(table.scalar_type()));
                           return {direct ? at::Tensor() : total};
                         });
}

at::Tensor column_sums(const at::Tensor& x) {
  const at::ScalarType wide = accumulate_type(x.scalar_type());
  if (!runs_loops(x)) return x.sum(0, false, wide);
  const at::Tensor rows = x.detach().contiguous();
  at::Tensor sums;
  with_type(rows.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const kernels::ColumnSums<T> work{.rows = rows.const_data_ptr<T>(), .columns = rows.size(1)};
    using A = kernels::Accumulate<T>;
    sums = for_rows_with_sums<A>(rows.size(0), work.columns, 1,
                                 [&](std::int64_t begin, std::int64_t end, A* partial) {
                                   kernels::ColumnSums<T> piece = work;
                                   piece.sums = partial;
                                   kernels::table<T>().column_sums(piece, begin, end);
                                 })[0];
  });
  return sums;
}

}  // namespace roformer
