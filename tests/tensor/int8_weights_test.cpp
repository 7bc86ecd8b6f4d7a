// Products of eight-bit weights against the exact ones, within what rounding can do.
#include "tensor/int8_weights.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "tensor/operations.h"

using namespace roformer;

TEST_CASE("a product of eight-bit weights is exact but for the rounding of its factors") {
  if (!Int8Weights::available()) return;
  at::manual_seed(3);
  const std::int64_t rows = GENERATE(1, 7, 64);
  const at::Tensor x = at::randn({rows, 96});
  // Rows of very different size have scales of their own.
  const at::Tensor weight = at::randn({130, 96}) * at::logspace(-3, 2, 130).unsqueeze(1);
  Int8Weights weights;
  weights.add(weight);
  const at::Tensor exact = at::mm(x, weight.t());
  at::Tensor found;
  {
    const Int8Weights::Use use(&weights);
    found = project(x, weight);
    CHECK(at::equal(project(x, weight.narrow(0, 0, 10)), at::mm(x, weight.narrow(0, 0, 10).t())));
    const Int8Weights::Use none(nullptr);
    CHECK(at::equal(project(x, weight), exact));
  }
  CHECK(at::equal(project(x, weight), exact));
  CHECK_FALSE(at::equal(found, exact));
  // Half a step of either factor; seven bits of x where eight would overflow.
  const double x_step = (x.max() - x.min()).item<double>() / 127;
  const at::Tensor weight_step = weight.abs().amax({1}) / 127;
  const at::Tensor bound = 0.51 * (x_step * weight.abs().sum(1).unsqueeze(0) +
                                   x.abs().sum(1).unsqueeze(1) * weight_step.unsqueeze(0) +
                                   96 * x_step * weight_step.unsqueeze(0));
  CHECK(((found - exact).abs() <= bound).all().item<bool>());
  // Far from the bound on the whole: the error of a row is about a hundredth of its size.
  CHECK((found - exact).norm().item<double>() < 0.02 * exact.norm().item<double>());
}
