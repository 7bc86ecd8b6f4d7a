#include "tensor/favor_features.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>

#include <cmath>

#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/loops.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

// y = x times this.
double input_scale(const at::Tensor& x) {
  return std::pow(static_cast<double>(x.size(-1)), -0.25);
}

// Of M y, by the kind of stabiliser; undefined for none.
at::Tensor stabilizer_of(const FavorInputs& in, const at::Tensor& projected) {
  switch (in.stabilizer) {
    case FavorStabilizer::none:
      return {};
    case FavorStabilizer::of_token:
      return projected.detach().amax(-1, true);
    case FavorStabilizer::of_head:
      break;
  }
  const at::Tensor largest = projected.detach().amax({-2, -1}, true);
  return in.least.defined() ? at::maximum(largest, in.least) : largest;
}

FavorFeatures composed_features(const FavorInputs& in) {
  const at::Tensor y = in.x * input_scale(in.x);
  const at::Tensor projected = at::matmul(y, in.matrix.t().to(in.x.options()));
  const at::Tensor stabilizer = stabilizer_of(in, projected);
  at::Tensor exponent = projected - (y * y).sum(-1, true) / 2;
  if (stabilizer.defined()) exponent = exponent - stabilizer;
  FavorFeatures result{.features = (exponent.exp() + in.epsilon) * favor_share(in.matrix.size(0))};
  if (in.stabilizer == FavorStabilizer::of_head) result.stabilizer = stabilizer;
  return result;
}

// Calls function(T{}, head) for every head of every text in [B, H, L, ..], in parallel.
template <typename Function>
void for_each_head(const at::Tensor& x, const Function& function) {
  with_type(x.scalar_type(), [&](auto tag) {
    using T = kernels::Accumulate<decltype(tag)>;
    for_each_in_turn(
        x.size(0) * x.size(1), [&](std::int64_t head) { function(T{}, head); }, [] {});
  });
}

// The numbers of a head in a contiguous tensor.
template <typename T>
T* of_head(const at::Tensor& x, std::int64_t head) {
  return x.data_ptr<T>() + head * x.size(-2) * x.size(-1);
}

// M y becomes its features.
void exponentiate(const FavorInputs& in, const at::Tensor& x, const at::Tensor& stabilizer,
                  const at::Tensor& numbers) {
  const double scale = input_scale(x);
  for_each_head(x, [&](auto tag, std::int64_t head) {
    using T = decltype(tag);
    const T nothing = 0;
    kernels::ExponentialFeatures<T> work{.numbers = of_head<T>(numbers, head),
                                         .columns = numbers.size(-1),
                                         .input = of_head<T>(x, head),
                                         .width = x.size(-1),
                                         .half = static_cast<T>(scale * scale / 2),
                                         .epsilon = static_cast<T>(in.epsilon),
                                         .share = static_cast<T>(favor_share(numbers.size(-1)))};
    if (in.stabilizer == FavorStabilizer::none) work.stabilizer = &nothing;
    if (stabilizer.defined()) work.stabilizer = stabilizer.const_data_ptr<T>() + head;
    kernels::table<T>().exponential_features(work, x.size(-2));
  });
}

// The gradient of x. `scaled` is the matrix that x itself is multiplied with.
at::Tensor input_gradient(const at::Tensor& x, const at::Tensor& scaled, const at::Tensor& features,
                          double epsilon, const at::Tensor& gradient) {
  const double scale = input_scale(x);
  const at::Tensor to_exponents = at::empty_like(features);
  at::Tensor to_x = at::empty_like(x);
  for_each_head(x, [&](auto tag, std::int64_t head) {
    using T = decltype(tag);
    kernels::table<T>().exponential_features_backward(
        {.features = of_head<T>(features, head),
         .gradient = of_head<T>(gradient, head),
         .floor = static_cast<T>(epsilon * favor_share(features.size(-1))),
         .to_exponents = of_head<T>(to_exponents, head),
         .columns = features.size(-1),
         .input = of_head<T>(x, head),
         .to_input = of_head<T>(to_x, head),
         .width = x.size(-1),
         .factor = static_cast<T>(scale * scale)},
        x.size(-2));
  });
  to_x.view({-1, x.size(-1)}).addmm_(to_exponents.view({-1, features.size(-1)}), scaled);
  return to_x;
}

}  // namespace

FavorFeatures favor_features(const FavorInputs& in) {
  if (!runs_loops(in.x)) return composed_features(in);
  GradientRecorder recorder("attention/favor_features", {in.x});
  const at::Tensor x = in.x.detach().contiguous();
  const at::Tensor scaled = (in.matrix * input_scale(x)).to(x.options());
  const at::Tensor features = at::matmul(x, scaled.t());
  FavorFeatures result;
  if (in.stabilizer == FavorStabilizer::of_head) result.stabilizer = stabilizer_of(in, features);
  exponentiate(in, x, result.stabilizer.defined() ? result.stabilizer.contiguous() : at::Tensor(),
               features);
  result.features = recorder.finish(features, [x, scaled, held = features.detach(),
                                               epsilon = in.epsilon](const Gradients& gradients) {
    return Gradients{input_gradient(x, scaled, held, epsilon, gradients[0].contiguous())};
  });
  return result;
}

double favor_share(std::int64_t features) {
  return 1 / std::sqrt(static_cast<double>(features));
}

}  // namespace roformer
