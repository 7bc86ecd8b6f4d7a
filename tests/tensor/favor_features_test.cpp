// FAVOR+'s features by the program's own loops against LibTorch's operations, gradients included.
#include "tensor/linear_attention_operations.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>
#include <vector>

#include "catch.h"
#include "distance.h"
#include "tensor/dispatch.h"

using namespace roformer;

namespace {

struct FavorResults {
  at::Tensor features, stabilizer, gradient;
};

// Heads side by side in the memory of a token, as projections leave them.
struct FavorExample {
  at::Tensor tokens = at::randn({2, 37, 3 * 6}, at::kDouble);
  at::Tensor matrix = at::randn({11, 6}, at::kDouble);
  at::Tensor outer = at::randn({2, 3, 37, 11}, at::kDouble);
  at::Tensor least;

  FavorResults run(FavorStabilizer stabilizer, at::ScalarType type) const {
    const at::Tensor x = tokens.to(type).detach().clone().requires_grad_();
    const FavorFeatures made = favor_features({.x = x.view({2, 37, 3, 6}).transpose(1, 2),
                                               .matrix = matrix,
                                               .epsilon = 1e-4,
                                               .stabilizer = stabilizer,
                                               .least = least});
    (made.features * outer.to(type)).sum().backward();
    return {made.features.detach(), made.stabilizer, x.grad()};
  }
  FavorResults composed(FavorStabilizer stabilizer) const {
    const ComposedForms forms;
    return run(stabilizer, at::kDouble);
  }
};

constexpr FavorStabilizer kKinds[] = {FavorStabilizer::none, FavorStabilizer::of_token,
                                      FavorStabilizer::of_head};

void check_equal(const FavorResults& got, const FavorResults& wanted, double allowed) {
  CHECK(distance(got.features.to(at::kDouble), wanted.features) < allowed);
  CHECK(distance(got.gradient.to(at::kDouble), wanted.gradient) < allowed);
  REQUIRE(got.stabilizer.defined() == wanted.stabilizer.defined());
  if (!got.stabilizer.defined()) return;
  CHECK(got.stabilizer.sizes() == at::IntArrayRef({2, 3, 1, 1}));
  CHECK(distance(got.stabilizer.to(at::kDouble), wanted.stabilizer) < allowed);
}

}  // namespace

TEST_CASE("FAVOR+'s features by loops are those of LibTorch's operations") {
  at::manual_seed(4);
  FavorExample example;
  for (const bool bounded : {false, true}) {
    if (bounded) {  // by earlier keys: of some heads more than their own largest
      example.least = at::randn({2, 3, 1, 1}, at::kDouble) * 4;
    }
    for (const FavorStabilizer kind : kKinds) {
      const FavorResults wanted = example.composed(kind);
      check_equal(example.run(kind, at::kDouble), wanted, 1e-12);
      FavorExample narrow = example;
      if (bounded) narrow.least = example.least.to(at::kFloat);
      check_equal(narrow.run(kind, at::kFloat), wanted, 1e-5);
    }
  }
}

TEST_CASE("FAVOR+'s features are the same for any number of threads") {
  at::manual_seed(5);
  const FavorExample example;
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const FavorResults one = example.run(FavorStabilizer::of_head, at::kFloat);
  at::set_num_threads(3);
  const FavorResults three = example.run(FavorStabilizer::of_head, at::kFloat);
  at::set_num_threads(threads);
  CHECK(at::equal(one.features, three.features));
  CHECK(at::equal(one.gradient, three.gradient));
}

TEST_CASE("an exponent that is not a number is not hidden in FAVOR+'s features") {
  FavorExample example;
  example.tokens[0][5][0] = std::numeric_limits<double>::quiet_NaN();
  for (const FavorStabilizer kind : kKinds) {
    CHECK(example.run(kind, at::kFloat).features.isnan().any().item<bool>());
  }
}
