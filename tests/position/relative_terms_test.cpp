// Relative terms against the same sums written out pair by pair.
#include <ATen/ATen.h>

#include <algorithm>

#include "catch.h"
#include "distance.h"
#include "position/relative_index.h"
#include "tensor/relative_terms.h"

using namespace roformer;

namespace {

struct Shape {
  Positions queries, keys;
  std::int64_t heads_of_table;
};

// Rows of irregular, rising, falling and constant runs of the distance.
std::int64_t row_of(std::int64_t distance) {
  if (distance < -30) return 0;
  if (distance < 0) return std::min<std::int64_t>(12, distance + 31);
  if (distance < 6) return 18 - distance;
  return (distance * 7) % 19;
}

at::Tensor leaf(std::vector<std::int64_t> shape) {
  return at::randn(shape, at::kDouble).set_requires_grad(true);
}

}  // namespace

TEST_CASE("relative products and sums are those of the gathered vectors, with gradients") {
  at::manual_seed(3);
  const std::vector<Shape> shapes{
      {Positions::range(0, 150), Positions::range(0, 150), 3},
      {Positions::range(140, 10), Positions::range(0, 150), 1},
      {Positions::of({0, 2, 3, 9, 10}), Positions::of({0, 2, 3, 9, 10, 40, 41}), 3}};
  for (const Shape& shape : shapes) {
    const std::int64_t q = shape.queries.count(), k = shape.keys.count(), d = 4;
    const RelativeIndex index = relative_index(shape.queries, shape.keys, row_of);
    const at::Tensor matrix = index.matrix(at::kCPU);
    for (std::int64_t i = 0; i < q; i += 3) {
      for (std::int64_t j = 0; j < k; j += 5) {
        CHECK(matrix[i][j].item<std::int64_t>() == row_of(shape.keys[j] - shape.queries[i]));
      }
    }
    at::Tensor query = leaf({2, 3, q, d}), key = leaf({2, 3, k, d}), scores = leaf({2, 3, q, k});
    at::Tensor table = leaf({shape.heads_of_table, 19, d});
    const at::Tensor outer = at::randn({2, 3, q, k}, at::kDouble);
    const at::Tensor outer_values = at::randn({2, 3, q, d}, at::kDouble);
    const std::vector<at::Tensor> leaves{query, key, scores, table};
    const auto gradients = [&](const at::Tensor& sum) {
      for (const at::Tensor& x : leaves) x.mutable_grad() = at::Tensor();
      sum.backward();
      std::vector<at::Tensor> result;
      for (const at::Tensor& x : leaves) result.push_back(x.grad().clone());
      return result;
    };
    // [heads, Lq, Lk, D], what must never exist outside of a test.
    const at::Tensor vectors = table.index_select(1, matrix.flatten()).view({-1, q, k, d});
    const at::Tensor plain =
        scores + (query.unsqueeze(3) * vectors).sum(-1) + (key.unsqueeze(2) * vectors).sum(-1);
    const at::Tensor plain_values = (plain.unsqueeze(-1) * vectors).sum(3);
    const auto wanted = gradients((plain * outer).sum() + (plain_values * outer_values).sum());

    at::Tensor fast = scores * 1;
    fast =
        add_relative_products({.scores = fast, .vectors = query, .table = table, .index = index});
    fast = add_relative_products({.scores = fast,
                                  .vectors = key,
                                  .table = table,
                                  .index = index,
                                  .side = RelativeSide::key});
    const at::Tensor fast_values = relative_sums(fast, table, index);
    CHECK(distance(fast, plain) < 1e-12);
    CHECK(distance(fast_values, plain_values) < 1e-10);
    const auto got = gradients((fast * outer).sum() + (fast_values * outer_values).sum());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(distance(got[i], wanted[i]) < 1e-9);
  }
}

TEST_CASE("an expanded bias sums its gradient over the pairs of each row") {
  const Positions all = Positions::range(0, 40);
  const RelativeIndex index = relative_index(all, all, row_of);
  at::Tensor values = at::randn({2, 19}, at::kDouble).set_requires_grad(true);
  const at::Tensor outer = at::randn({1, 2, 40, 40}, at::kDouble);
  const at::Tensor bias = expand_relative(values, index);
  CHECK(bias[0][1][5][7].item<double>() == values[1][row_of(2)].item<double>());
  (bias * outer).sum().backward();
  const at::Tensor wanted =
      at::zeros({2, 19}, at::kDouble)
          .index_add(1, index.matrix(at::kCPU).flatten(), outer.view({2, -1}));
  CHECK(distance(values.grad(), wanted) < 1e-10);
}
