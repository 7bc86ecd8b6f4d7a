#include "position/householder_products.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <vector>

namespace roformer {
namespace {

constexpr std::int64_t kTokens = 64;  // of a chunk: about a head's width

// The matrices of some tokens in one: their product is I - w^T inverse diag(beta) w.
struct ProductChunk {
  std::int64_t begin = 0, end = 0;  // among all keys
  at::Tensor w, scaled;             // [B, H, c, D]: w, beta w
  at::Tensor inverse;               // of I + the strict lower triangle of beta w w^T, [B, H, c, c]

  ProductChunk(const HouseholderInputs& in, std::int64_t first, std::int64_t last)
      : begin(first), end(last) {
    w = in.w.narrow(2, begin - in.settled, end - begin);
    scaled = w * in.beta.narrow(2, begin - in.settled, end - begin).unsqueeze(-1);
    const at::Tensor one = at::eye(end - begin, w.options());
    inverse = at::linalg_solve_triangular(one + at::matmul(scaled, w.transpose(-2, -1)).tril(-1),
                                          one.expand({1, 1, -1, -1}),
                                          /*upper=*/false, /*left=*/true, /*unitriangular=*/true);
  }

  at::Tensor own(const at::Tensor& key) const { return key.narrow(2, begin, end - begin); }

  // The keys before the chunk and its own, as the token after the chunk sees them.
  at::Tensor carried(const at::Tensor& before, const at::Tensor& key) const {
    const at::Tensor carrier = at::matmul(inverse.transpose(-2, -1), w);
    const auto through = [&](const at::Tensor& keys, const at::Tensor& products) {
      return keys - at::matmul(products, carrier);
    };
    const at::Tensor mine = own(key);
    const at::Tensor inner = at::matmul(scaled, mine.transpose(-2, -1)).tril(-1);
    const at::Tensor result = through(mine, inner.transpose(-2, -1));
    if (before.size(2) == 0) return result;
    return at::cat({through(before, at::matmul(before, scaled.transpose(-2, -1))), result}, 2);
  }

  // Products of the chunk's queries with the keys before it and its own: [B, H, c, end].
  at::Tensor scores(const at::Tensor& query, const at::Tensor& before,
                    const at::Tensor& key) const {
    const at::Tensor mine = own(key).transpose(-2, -1);
    const at::Tensor through = at::matmul(at::matmul(query, w.transpose(-2, -1)).tril(), inverse);
    const at::Tensor inner =
        at::matmul(query, mine).tril() - at::matmul(through, at::matmul(scaled, mine).tril(-1));
    if (before.size(2) == 0) return inner;
    const at::Tensor carried_query = query - at::matmul(through, scaled);
    return at::cat({at::matmul(carried_query, before.transpose(-2, -1)), inner}, 3);
  }
};

// Where chunks begin: at the settled keys' end, at the first query, and every kTokens tokens.
std::vector<std::int64_t> chunk_bounds(const HouseholderInputs& in) {
  const std::int64_t keys = in.key.size(2);
  const std::int64_t first = in.query.defined() ? keys - in.query.size(2) : in.settled;
  std::vector<std::int64_t> bounds{in.settled};
  while (bounds.back() < keys) {
    const std::int64_t limit = bounds.back() < first ? first : keys;
    bounds.push_back(std::min(bounds.back() + kTokens, limit));
  }
  return bounds;
}

}  // namespace

at::Tensor householder_scores(const HouseholderInputs& in) {
  const std::int64_t keys = in.key.size(2), first = keys - in.query.size(2);
  const std::vector<std::int64_t> bounds = chunk_bounds(in);
  at::Tensor before = in.key.narrow(2, 0, in.settled);
  std::vector<at::Tensor> rows;
  for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
    const ProductChunk chunk(in, bounds[n], bounds[n + 1]);
    if (chunk.begin >= first) {
      const at::Tensor query = in.query.narrow(2, chunk.begin - first, chunk.end - chunk.begin);
      rows.push_back(
          at::constant_pad_nd(chunk.scores(query, before, in.key), {0, keys - chunk.end}));
    }
    if (chunk.end < keys) before = chunk.carried(before, in.key);
  }
  return at::cat(rows, 2) * in.scale;
}

at::Tensor settled_keys(const HouseholderInputs& in) {
  const std::vector<std::int64_t> bounds = chunk_bounds(in);
  at::Tensor before = in.key.narrow(2, 0, in.settled);
  for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
    before = ProductChunk(in, bounds[n], bounds[n + 1]).carried(before, in.key);
  }
  return before;
}

}  // namespace roformer
