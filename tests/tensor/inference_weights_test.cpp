// Products of prepared weights against the exact ones, within what rounding can do.
#include "tensor/inference_weights.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "tensor/operations.h"

using namespace roformer;

namespace {

// Rows of very different size.
at::Tensor uneven_weight(std::int64_t out, std::int64_t in) {
  return at::randn({out, in}) * at::logspace(-3, 2, out).unsqueeze(1);
}

// The largest error as a share of what the sums could be without their signs. In double.
double relative_error(const at::Tensor& found, const at::Tensor& x, const at::Tensor& weight) {
  const at::Tensor largest = at::mm(x.abs(), weight.abs().t());
  const at::Tensor error = (found.to(at::kDouble) - at::mm(x, weight.t())).abs();
  return (error / largest).max().item<double>();
}

}  // namespace

TEST_CASE("a product of prepared weights is that of the weights themselves") {
  at::manual_seed(5);
  const auto form = GENERATE(WeightForm::fp32, WeightForm::fp32_in_place, WeightForm::bf16);
  const at::ScalarType type = form == WeightForm::bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor weight = uneven_weight(130, 96);
  InferenceWeights weights;
  weights.add(weight, form);
  CHECK(weights.size() == (form != WeightForm::fp32 || InferenceWeights::available(form) ? 1 : 0));
  const InferenceWeights::Use use(&weights);
  for (const std::int64_t rows : {1, 2, 7, 33, 64, 65, 200}) {
    const at::Tensor x = at::randn({rows, 96}).to(type);
    const at::Tensor found = project(x, weight);
    CHECK(found.scalar_type() == type);
    CHECK(found.sizes() == at::IntArrayRef({rows, 130}));
    const double error = relative_error(found, x.to(at::kDouble), weight.to(type).to(at::kDouble));
    CHECK(error < (form == WeightForm::bf16 ? 4e-3 : 1e-6));
  }
  CHECK(project(at::empty({0, 96}, type), weight).sizes() == at::IntArrayRef({0, 130}));
}

TEST_CASE("a prepared weight is taken for its own type, whole, and while it is in use") {
  at::manual_seed(6);
  const at::Tensor weight = at::randn({130, 96});
  // Prepared from other numbers, so that it is seen whether they were taken.
  at::Tensor changed = weight.clone();
  InferenceWeights weights;
  weights.add(changed, WeightForm::bf16);
  changed.zero_();
  const at::Tensor x = at::randn({5, 96}), narrow = x.to(at::kBFloat16);
  const auto is_prepared = [&](const at::Tensor& input, const at::Tensor& matrix) {
    return project(input, matrix).abs().max().item<double>() > 0;
  };
  CHECK_FALSE(is_prepared(narrow, changed));
  const InferenceWeights::Use use(&weights);
  CHECK(is_prepared(narrow, changed));
  CHECK_FALSE(is_prepared(x, changed));
  CHECK_FALSE(is_prepared(narrow, changed.narrow(0, 0, 10)));
  CHECK_FALSE(is_prepared(narrow.narrow(1, 0, 50), changed.narrow(1, 0, 50)));
  const at::Tensor square = at::randn({96, 96});
  weights.add(square, WeightForm::bf16);
  CHECK(at::allclose(project(narrow, square.t()).to(at::kFloat), at::mm(x, square), 0.05, 0.5));
  const InferenceWeights::Use none(nullptr);
  CHECK_FALSE(is_prepared(narrow, changed));
}

TEST_CASE("a product of eight-bit weights is exact but for the rounding of its factors") {
  at::manual_seed(3);
  const std::int64_t rows = GENERATE(1, 7, 64);
  const at::Tensor x = at::randn({rows, 96});
  const at::Tensor weight = uneven_weight(130, 96);
  InferenceWeights weights;
  weights.add(weight, WeightForm::int8);
  const at::Tensor exact = at::mm(x, weight.t());
  const InferenceWeights::Use use(&weights);
  const at::Tensor found = project(x, weight);
  CHECK_FALSE(at::equal(found, exact));
  // A row is the same whatever rows are beside it.
  CHECK(at::equal(project(x.narrow(0, 0, 1), weight), found.narrow(0, 0, 1)));
  // Half a step of either factor; seven bits of x where eight would overflow.
  const at::Tensor x_step = 2 * x.abs().amax({1}, /*keepdim=*/true) / 127;
  const at::Tensor weight_step = weight.abs().amax({1}) / 127;
  const at::Tensor bound = 0.51 * (x_step * weight.abs().sum(1).unsqueeze(0) +
                                   x.abs().sum(1).unsqueeze(1) * weight_step.unsqueeze(0) +
                                   96 * x_step * weight_step.unsqueeze(0));
  CHECK(((found - exact).abs() <= bound).all().item<bool>());
  // Far from the bound on the whole: the error of a row is about a hundredth of its size.
  CHECK((found - exact).norm().item<double>() < 0.02 * exact.norm().item<double>());
}
