// The count of denominators near zero, and that none of them makes a number that is none.
#include "attention/linear_attention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"

using namespace roformer;

namespace {

// Features of one head of two positions that do not share a direction, but for `shared` of it.
LinearFeatures crossed_features(double shared) {
  LinearFeatures features{.query = at::tensor({1.0, shared, shared, 1.0}, at::kDouble),
                          .key = at::tensor({shared, 1.0, shared, 1.0}, at::kDouble)};
  for (at::Tensor* x : {&features.query, &features.key}) *x = x->view({1, 1, 2, 2});
  features.rotated_query = features.query;
  features.rotated_key = features.key;
  return features;
}

}  // namespace

TEST_CASE("denominators are small beside what their features could add up to") {
  const DenominatorCheck check;
  linear_denominator(crossed_features(1e-4), /*causal=*/true);
  const DenominatorFigures figures = check.figures();
  CHECK(figures.count == 2);
  CHECK(figures.small == 1);  // the first query and key are nearly at right angles
  CHECK(figures.small_share() == 0.5);
  CHECK(figures.least == Approx(2e-4).epsilon(1e-3));
  {
    const DenominatorCheck inner;
    linear_denominator(crossed_features(1), /*causal=*/false);
    CHECK(inner.figures().small == 0);
    CHECK(inner.figures().least == Approx(1));
  }
  CHECK(check.figures().count == 2);
}

TEST_CASE("a query that sees nothing is not counted") {
  const DenominatorCheck check;
  LinearFeatures features = crossed_features(0.5);
  features.key = at::zeros_like(features.key);
  linear_denominator(features, /*causal=*/false);
  CHECK(check.figures().count == 0);
  CHECK(check.figures().small == 0);
  CHECK(check.figures().least == 1);
}

TEST_CASE("denominators that vanish give finite numbers and gradients") {
  at::manual_seed(1);
  for (const double scale : {1.0, 1e-18, 1e-22, 0.0}) {
    CAPTURE(scale);
    const at::Tensor x = (at::rand({1, 2, 200, 8}) * scale).set_requires_grad(true);
    const at::Tensor v = at::randn({1, 2, 200, 8}).set_requires_grad(true);
    LinearFeatures features{.query = x, .key = x};
    features.rotated_query = features.rotated_key = at::roll(x, 1, -1);
    const at::Tensor output = linear_attention(features, v, /*causal=*/true);
    output.sum().backward();
    CHECK(at::isfinite(output).all().item<bool>());
    CHECK(at::isfinite(x.grad()).all().item<bool>());
    CHECK(at::isfinite(v.grad()).all().item<bool>());
  }
}
