#include "attention/linear_state.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/favor_features.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// rotated_key and key [.., L, F], value [B, H, L, D].
LinearSums sums_of(const at::Tensor& rotated_key, const at::Tensor& key, const at::Tensor& value) {
  return {.numerator = at::matmul(rotated_key.transpose(-2, -1), value),
          .denominator = key.sum(-2, true)};
}

LinearSums sum(const LinearSums& a, const LinearSums& b) {
  if (!a.numerator.defined()) return b;
  return {.numerator = a.numerator + b.numerator, .denominator = a.denominator + b.denominator};
}

LinearSums selected(const LinearSums& sums, const at::Tensor& rows) {
  if (!sums.numerator.defined()) return sums;
  return {.numerator = at::index_select(sums.numerator, 0, rows),
          .denominator = at::index_select(sums.denominator, 0, rows)};
}

}  // namespace

at::Tensor LinearState::append(const LinearAttentionInputs& in, const at::Tensor& value) {
  ROFORMER_ASSERT(in.context.queries == in.context.keys && !in.context.mask.defined());
  const at::ScalarType type = value.scalar_type(), wide = accumulate_type(type);
  LinearAttentionInputs inputs = in;
  inputs.query = in.query.to(wide);
  inputs.key = in.key.to(wide);
  inputs.least_stabilizer = stabilizer_;
  const LinearFeatures features = linear_features(inputs);
  const at::Tensor values = value.to(wide);
  if (stabilizer_.defined()) shrink(features.stabilizer);
  stabilizer_ = features.stabilizer;
  const at::Tensor output = linear_attention(features, values, /*causal=*/true, sums_);
  sums_ = sum(sums_, sums_of(features.rotated_key, features.key, values));
  if (stabilizer_.defined() && in.attention.favor_epsilon > 0) {
    const at::Tensor constant = at::full_like(
        features.key, in.attention.favor_epsilon * favor_share(features.key.size(-1)));
    const bool before = in.attention.linear_rotation == LinearRotation::before;
    const auto rotation = before ? std::nullopt : in.scheme.rotation(in.context, constant.size(-1));
    constants_ = sum(constants_, sums_of(rotation ? rotated(constant, rotation->key) : constant,
                                         constant, values));
  }
  return output.to(type);
}

void LinearState::shrink(const at::Tensor& stabilizer) {
  const at::Tensor factor = (stabilizer_ - stabilizer).exp();  // [B, H, 1, 1]
  const auto shrunk = [&](const at::Tensor& sum, const at::Tensor& constant) {
    return constant.defined() ? (sum - constant) * factor + constant : sum * factor;
  };
  sums_ = {.numerator = shrunk(sums_.numerator, constants_.numerator),
           .denominator = shrunk(sums_.denominator, constants_.denominator)};
}

void LinearState::reorder(std::span<const std::int64_t> sources) {
  if (!sums_.numerator.defined()) return;  // of a layer that has softmax attention
  const at::Tensor rows =
      on_device(at::tensor(at::IntArrayRef(sources.data(), sources.size()), at::kLong),
                sums_.numerator.device());
  sums_ = selected(sums_, rows);
  constants_ = selected(constants_, rows);
  if (stabilizer_.defined()) stabilizer_ = at::index_select(stabilizer_, 0, rows);
}

}  // namespace roformer
