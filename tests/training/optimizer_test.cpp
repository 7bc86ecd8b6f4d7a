#include "training/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <limits>

#include "catch.h"
#include "training/forms.h"

namespace roformer {
namespace {

// Ranges of different decay and depth, and sizes that are no multiple of anything.
void add_parameters(ParameterStore& store) {
  store.add({.name = "embedding", .shape = {501, 83}, .initial = normal(1), .depth = 0});
  store.add({.name = "weight",
             .shape = {70, 33},
             .initial = normal(1),
             .depth = 1,
             .matrices = {30, 40}});
  store.add({.name = "bias", .shape = {33}, .initial = normal(1), .decay = false, .depth = 1});
  store.add({.name = "head", .shape = {7}, .initial = normal(1), .depth = 2});
  store.flatten();
}

at::Tensor gradient_of(const ParameterStore& store, std::int64_t step) {
  const at::Tensor positions = at::arange(store.flat_values().numel(), at::kDouble);
  return at::sin(positions * 0.37 + static_cast<double>(step)) * 30;
}

}  // namespace

TEST_CASE("AdamW is LibTorch's fused AdamW") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const double layer_decay = GENERATE(1.0, 0.8);
  const Form form = GENERATE(Form::loops, Form::composed, Form::gpu_kernels);
  const FormTaken taken(form);
  ParameterStore store(5, type);
  add_parameters(store);
  const OptimizerOptions options{.beta1 = 0.8,
                                 .beta2 = 0.95,
                                 .epsilon = 1e-6,
                                 .weight_decay = 0.1,
                                 .layer_decay = layer_decay};
  Optimizer optimizer(store, options);
  const at::Tensor value = store.flat_values().clone();
  const at::Tensor first = at::zeros_like(value);
  const at::Tensor second = at::zeros_like(value);
  constexpr double kPlaces = 10;
  constexpr double kClip = 2;
  for (std::int64_t step = 0; step < 5; ++step) {
    const double rate = 0.01 / static_cast<double>(step + 1);
    const at::Tensor gradient = gradient_of(store, step).to(type);
    at::Tensor flat = store.flat_gradients();
    flat.copy_(gradient);
    const OptimizerOutcome outcome = optimizer.step(
        {.learning_rate = rate, .targets = kPlaces, .clip = kClip, .loss = at::scalar_tensor(1.0)});
    const double norm = gradient.to(at::kDouble).norm().item<double>() / kPlaces;
    CHECK(outcome.gradient_norm.item<double>() == Approx(norm).epsilon(1e-6));
    CHECK_FALSE(outcome.skipped.item<bool>());
    CHECK(store.flat_gradients().count_nonzero().item<std::int64_t>() == 0);
    const at::Tensor clipped = gradient * (kClip / norm / kPlaces);
    const at::Tensor count = at::full({}, static_cast<double>(step + 1), at::kFloat);
    for (const ParameterRange& range : store.ranges()) {
      const auto piece = [&](const at::Tensor& tensor) {
        return std::vector<at::Tensor>{tensor.slice(0, range.begin, range.end)};
      };
      at::_fused_adamw_(piece(value), piece(clipped), piece(first), piece(second), {}, {count},
                        rate * std::pow(layer_decay, 2 - range.depth), options.beta1, options.beta2,
                        range.decay ? options.weight_decay : 0, options.epsilon, false, false);
    }
    // LibTorch's operator takes the scale of the gradient in float.
    const double tolerance = type == at::kDouble && form != Form::composed ? 1e-12 : 1e-6;
    CHECK(at::allclose(store.flat_values(), value, tolerance, tolerance));
    CHECK(at::allclose(optimizer.moments().second, second, tolerance, tolerance));
  }
  CHECK(optimizer.updates() == 5);
}

TEST_CASE("a gradient or loss that is not finite changes nothing") {
  const Form form = GENERATE(Form::loops, Form::composed, Form::gpu_kernels);
  const FormTaken taken(form);
  ParameterStore store(5);
  add_parameters(store);
  OptimizerOptions options;
  if (GENERATE(false, true)) options.muon = MuonOptions();
  Optimizer optimizer(store, options);
  const at::Tensor before = store.flat_values().clone();
  at::Tensor gradient = store.flat_gradients();
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  const bool in_loss = GENERATE(true, false);
  gradient.fill_(1);
  if (!in_loss) gradient[12345] = bad;
  const OptimizerOutcome outcome =
      optimizer.step({.learning_rate = 1, .loss = at::scalar_tensor(in_loss ? bad : 1.0)});
  CHECK(outcome.skipped.item<bool>());
  CHECK(at::equal(store.flat_values(), before));
  CHECK(optimizer.is_finite());
  CHECK(gradient.count_nonzero().item<std::int64_t>() == 0);
  CHECK(optimizer.updates() == 0);
}

TEST_CASE("the norm is the same for any number of threads") {
  const at::Tensor values = at::sin(at::arange(1'000'003, at::kFloat));
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const double one = norm_on_cpu(values);
  at::set_num_threads(4);
  const double four = norm_on_cpu(values);
  at::set_num_threads(threads);
  CHECK(one == four);
  CHECK(one == Approx(values.to(at::kDouble).norm().item<double>()).epsilon(1e-12));
}

}  // namespace roformer
