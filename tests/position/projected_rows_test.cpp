#include "position/relative_index.h"

#include <ATen/ATen.h>

#include <array>
#include <vector>

#include "catch.h"
#include "distance.h"
#include "position/scheme.h"
#include "tensor/parameters.h"

using namespace roformer;

TEST_CASE("vectors or rows go through the weight, with the same products and gradients") {
  constexpr std::int64_t kHeads = 3, kWidth = 6, kModel = 10, kRows = 7;
  at::manual_seed(5);
  for (const std::int64_t length : {1, 2, 3, 40}) {
    CAPTURE(length);
    const auto leaf = [](std::vector<std::int64_t> shape) {
      return at::randn(shape, at::kDouble).set_requires_grad(true);
    };
    const at::Tensor vectors = leaf({2, kHeads, length, kWidth}), rows = leaf({kRows, kModel}),
                     weight = leaf({kHeads * kWidth, kModel});
    const at::Tensor outer = at::randn({2, kHeads, length, kRows}, at::kDouble);
    const auto gradients = [&](const at::Tensor& products) {
      for (const at::Tensor& x : {vectors, rows, weight}) x.mutable_grad() = at::Tensor();
      (products * outer).sum().backward();
      return std::vector<at::Tensor>{vectors.grad(), rows.grad(), weight.grad()};
    };
    const at::Tensor table =
        at::matmul(rows, weight.t()).view({kRows, kHeads, kWidth}).transpose(0, 1);
    const at::Tensor wanted = at::matmul(vectors, table.transpose(1, 2));
    const std::vector<at::Tensor> wanted_gradients = gradients(wanted);

    const ProjectedRows projected = projected_rows(vectors, rows, weight);
    CHECK(projected.table.size(0) == (2 * length < kWidth ? 1 : kHeads));
    const at::Tensor products = at::matmul(projected.vectors, projected.table.transpose(1, 2));
    CHECK(distance(products, wanted) < 1e-12);
    const std::vector<at::Tensor> found = gradients(products);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(distance(found[i], wanted_gradients[i]) < 1e-12);
    }
  }
}

TEST_CASE("in bf16 both ways are within its rounding of the exact products, with gradients") {
  constexpr std::int64_t kHeads = 2, kWidth = 16, kModel = 32, kRows = 20;
  at::manual_seed(7);
  for (const std::int64_t length : {1, 24}) {
    CAPTURE(length);
    std::vector<at::Tensor> exact, narrow;
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{1, kHeads, length, kWidth},
          {kRows, kModel},
          {kHeads * kWidth, kModel}}) {
      narrow.push_back(at::randn(shape).to(at::kBFloat16).set_requires_grad(true));
      exact.push_back(narrow.back().detach().to(at::kDouble).set_requires_grad(true));
    }
    const auto products = [](const std::vector<at::Tensor>& in) {
      const ProjectedRows projected = projected_rows(in[0], in[1], in[2]);
      return at::matmul(projected.vectors, projected.table.transpose(1, 2));
    };
    const at::Tensor wanted = products(exact), found = products(narrow);
    const auto error = [](const at::Tensor& a, const at::Tensor& b) {
      return ((a.to(at::kDouble) - b).norm() / b.norm()).item<double>();
    };
    CHECK(error(found, wanted) < 0.01);
    CHECK(error(found, wanted) > 1e-5);  // it is bf16
    wanted.sum().backward();
    found.sum().backward();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      CHECK(error(narrow[i].grad(), exact[i].grad()) < 0.02);
    }
  }
}

TEST_CASE("the sinusoids that Transformer-XL keeps serve distances in any order") {
  const auto make = [] {
    PositionSettings settings;
    settings.scheme = "transformer_xl";
    ParameterStore parameters(1);
    return make_scheme({.settings = settings,
                        .shape = {.layers = 1, .width = 8, .heads = 2, .head_width = 4},
                        .parameters = parameters});
  };
  const auto scheme = make();
  at::manual_seed(6);
  for (const auto& [first, queries, keys] : std::vector<std::array<std::int64_t, 3>>{
           {0, 5, 5}, {5, 1, 6}, {0, 3, 3}, {6, 1, 7}, {40, 2, 42}, {0, 2, 60}, {0, 5, 5}}) {
    CAPTURE(first, queries, keys);
    const at::Tensor query = at::randn({1, 2, queries, 4}), key = at::randn({1, 2, keys, 4});
    const AttentionContext context{.queries = Positions::range(first, queries),
                                   .keys = Positions::range(0, keys)};
    const auto scores = [&](const PositionScheme& of) {
      return of.scores(context, {.query = query,
                                 .key = key,
                                 .raw_query = query,
                                 .raw_key = key,
                                 .scores = at::zeros({1, 2, queries, keys}),
                                 .scale = 0.5});
    };
    CHECK(at::equal(scores(*scheme), scores(*make())));
  }
}
