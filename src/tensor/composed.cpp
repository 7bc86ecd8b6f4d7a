#include "tensor/composed.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/rsqrt.h>

#include <optional>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/graph_recording.h"

namespace roformer::composed {
namespace {

// A constant's bits as the signed number that LibTorch's integers hold; their products wrap.
std::int64_t bits(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
std::int64_t bits32(std::uint32_t value) {
  return static_cast<std::int32_t>(value);
}

// x ^ (x >> shift) with zeros shifted in, in place.
template <int kWidth>
void fold(at::Tensor& x, int shift) {
  const std::int64_t mask = bits((std::uint64_t{1} << (kWidth - shift)) - 1);
  x.bitwise_xor_(x.bitwise_right_shift(shift).bitwise_and_(mask));
}

}  // namespace

at::Tensor dropped(const DropoutSpec& spec, std::int64_t rows, std::int64_t columns,
                   at::Device device) {
  if (GraphRecording::current() != nullptr) {
    throw_failure("dropout", "masks made by LibTorch's operations cannot be part of a graph");
  }
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  at::Tensor keys = at::arange(spec.first_row + 1, spec.first_row + rows + 1, options)
                        .mul_(bits(0x9e3779b97f4a7c15ULL))
                        .add_(bits(spec.key));
  fold<64>(keys, 30);
  keys.mul_(bits(0xbf58476d1ce4e5b9ULL));
  fold<64>(keys, 27);
  keys.mul_(bits(0x94d049bb133111ebULL));
  fold<64>(keys, 31);
  const at::Tensor steps =
      at::arange(columns, options.dtype(at::kInt)).mul_(bits32(0x9e3779b9u)).unsqueeze(0);
  at::Tensor x = keys.to(at::kInt).unsqueeze(1) + steps;  // the low halves of the keys
  fold<32>(x, 16);
  x.mul_(bits32(0x7feb352du));
  fold<32>(x, 15);
  x.mul_(bits32(0x846ca68bu));
  fold<32>(x, 16);
  // Unsigned x < threshold, by signed numbers with the highest bit turned over.
  constexpr std::uint32_t kSign = 0x80000000u;
  const auto threshold = static_cast<std::uint32_t>(spec.probability * 4294967296.0);
  return x.bitwise_xor_(bits32(kSign)).lt(bits32(threshold ^ kSign));
}

NormedSum residual_norm(const ResidualNormInputs& in) {
  NormedSum result{.sum = in.residual};
  if (in.input.defined()) {
    result.sum = in.bias.defined() ? in.input + in.bias.to(in.input.scalar_type()) : in.input;
    if (in.dropout.probability > 0) {
      const at::Tensor zeros =
          dropped(in.dropout, in.input.size(0), in.input.size(1), in.input.device());
      result.sum = (result.sum * (1 / (1 - in.dropout.probability))).masked_fill(zeros, 0);
    }
    if (in.residual.defined()) result.sum = result.sum + in.residual;
  }
  if (in.gain.defined()) {
    const at::Tensor wide = result.sum.to(in.gain.scalar_type());
    at::Tensor normed;
    if (in.norm == NormKind::layer_norm) {
      std::optional<at::Tensor> shift;
      if (in.shift.defined()) shift = in.shift;
      normed = at::layer_norm(wide, {wide.size(1)}, in.gain, shift, in.epsilon);
    } else {
      normed = wide * at::rsqrt(wide.square().mean(-1, true) + in.epsilon) * in.gain;
      if (in.shift.defined()) normed = normed + in.shift;
    }
    result.normed = normed.to(result.sum.scalar_type());
  }
  return result;
}

BlockLosses cross_entropy(const at::Tensor& logits, const at::Tensor& bias,
                          const at::Tensor& labels, double smoothing) {
  logits.add_(bias);
  BlockLosses result{.correct = logits.argmax(1) == labels};  // of equals the first
  const at::Tensor without = labels < 0, column = labels.clamp_min(0).unsqueeze(1);
  const at::Tensor logarithms = at::log_softmax(logits, 1, accumulate_type(logits.scalar_type()));
  const auto counted = [&](const at::Tensor& x) {
    return x.to(at::kDouble).masked_fill(without, 0);
  };
  result.losses = counted(-logarithms.gather(1, column).squeeze(1));
  result.smoothed = result.losses;
  if (smoothing > 0) {
    result.smoothed = result.losses * (1 - smoothing) - counted(logarithms.mean(1)) * smoothing;
  }
  // In the type of the logarithms: near 1 a rounded probability leaves nothing of 1 - p.
  at::Tensor gradient = logarithms.exp_().sub_(smoothing / static_cast<double>(logits.size(1)));
  gradient.scatter_add_(1, column, at::full(column.sizes(), smoothing - 1, gradient.options()));
  logits.copy_(gradient.masked_fill_(without.unsqueeze(1), 0));
  return result;
}

}  // namespace roformer::composed
