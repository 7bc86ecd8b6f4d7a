// Stick-breaking attention (Tan 2025, arXiv:2410.17980): from the nearest key on, each takes a
// share of what is left, so that nearness needs no other position and no softmax. Section 23.
#include "position/stick_breaking.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "config/schemes/stick_breaking.h"
#include "position/replaced_scores.h"
#include "tensor/gradient.h"
#include "tensor/loops.h"

namespace roformer {
namespace {

template <typename T>
T log_one_and_exp(T x) {  // ln(1 + e^x), without overflow
  return std::max<T>(x, 0) + std::log1p(std::exp(-std::abs(x)));
}

// Rows [rows, keys] of the scores' memory; visible as bytes, or null.
struct StickRows {
  std::int64_t rows = 0, keys = 0;

  template <typename Function>
  void each(const Function& function) const {
    at::parallel_for(0, rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) function(row, row * keys);
    });
  }
};

// Scores become weights; shares (sigmoids, 0 where hidden) are kept where they are wanted.
template <typename T>
void break_sticks(const StickRows& rows, T* scores, const bool* visible, T* shares, T* remainder) {
  rows.each([&](std::int64_t row, std::int64_t start) {
    T left = 0;  // the logarithm of what is left of the stick
    for (std::int64_t j = rows.keys; j-- > 0;) {
      T& score = scores[start + j];
      const bool seen = visible == nullptr || visible[start + j];
      const T taken = seen ? log_one_and_exp(score) : T(0);
      const T share = seen ? std::exp(score - taken) : T(0);
      if (shares != nullptr) shares[start + j] = share;
      score = seen ? std::exp(score - taken + left) : T(0);
      left -= taken;
    }
    remainder[row] = std::exp(left);
  });
}

// dz_ij = A_ij G_ij - share_ij (sum over m <= j of A_im G_im + remainder_i R_i): the slopes of the
// weights become those of the scores.
template <typename T>
void stick_slopes(const StickRows& rows, T* slopes, const T* weights, const T* shares,
                  const T* remainder, const T* remainder_slopes) {
  rows.each([&](std::int64_t row, std::int64_t start) {
    T sum = remainder_slopes == nullptr ? T(0) : remainder[row] * remainder_slopes[row];
    for (std::int64_t j = start; j < start + rows.keys; ++j) {
      const T own = weights[j] * slopes[j];
      sum += own;
      slopes[j] = own - shares[j] * sum;
    }
  });
}

// The same from LibTorch's operations, for devices without the loops.
AttentionWeights composed_sticks(const at::Tensor& scores, const at::Tensor& mask) {
  at::Tensor taken = -at::log_sigmoid(-scores);
  if (mask.defined()) taken = taken.masked_fill(mask.logical_not(), 0);
  const at::Tensor later = taken.flip(-1).cumsum(-1).flip(-1);  // with the key's own
  at::Tensor weights = (scores - later).exp();
  if (mask.defined()) {
    weights = (scores - later)
                  .masked_fill(mask.logical_not(), 0)
                  .exp()
                  .masked_fill(mask.logical_not(), 0);
  }
  return {.weights = weights, .remainder = (-later.select(-1, 0)).exp()};
}

template <typename T>
AttentionWeights looped_sticks(const at::Tensor& scores, const at::Tensor& mask) {
  GradientRecorder recorder("attention/stick_breaking", {scores});
  const at::Tensor weights = scores.detach();
  ROFORMER_ASSERT(weights.is_contiguous());
  const at::Tensor visible =
      mask.defined() ? mask.expand(weights.sizes()).contiguous() : at::Tensor();
  const StickRows rows{.rows = weights.numel() / std::max<std::int64_t>(1, weights.size(-1)),
                       .keys = weights.size(-1)};
  const at::Tensor shares = recorder.wanted() ? at::empty_like(weights) : at::Tensor();
  const at::Tensor remainder =
      at::empty({weights.size(0), weights.size(1), weights.size(2)}, weights.options());
  break_sticks<T>(rows, weights.mutable_data_ptr<T>(),
                  visible.defined() ? visible.const_data_ptr<bool>() : nullptr,
                  shares.defined() ? shares.mutable_data_ptr<T>() : nullptr,
                  remainder.mutable_data_ptr<T>());
  const std::vector<at::Tensor> results = recorder.finish(
      {weights, remainder},
      [rows, weights, shares, remainder](const Gradients& gradients) -> Gradients {
        const at::Tensor slopes = gradients[0].defined()
                                      ? gradients[0].clone(at::MemoryFormat::Contiguous)
                                      : at::zeros_like(weights);
        const at::Tensor of_remainder =
            gradients[1].defined() ? gradients[1].contiguous() : at::Tensor();
        stick_slopes<T>(rows, slopes.mutable_data_ptr<T>(), weights.const_data_ptr<T>(),
                        shares.const_data_ptr<T>(), remainder.const_data_ptr<T>(),
                        of_remainder.defined() ? of_remainder.const_data_ptr<T>() : nullptr);
        return {slopes};
      });
  return {.weights = results[0], .remainder = results[1]};
}

class StickBreaking : public PositionScheme {
 public:
  explicit StickBreaking(const SchemeInputs& in)
      : settings_(in.settings.of<StickBreakingSettings>()) {
    if (settings_.remainder != StickRemainder::head_bias) return;
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) {
      biases_.push_back(in.parameters.add({.name = layer_parameter(layer, "head_bias"),
                                           .shape = {in.shape.heads, in.shape.head_width},
                                           .initial = zeros(),
                                           .decay = false,
                                           .depth = static_cast<int>(layer) + 1}));
    }
  }

  SchemeForm form() const override { return {.weights = true}; }
  AttentionWeights weights(const AttentionContext& context,
                           const at::Tensor& scores) const override {
    return stick_breaking_weights(scores, context.mask);
  }

  at::Tensor remainder_term(const AttentionContext& context, const at::Tensor& remainder,
                            const at::Tensor& value) const override {
    if (settings_.remainder == StickRemainder::none) return {};
    if (settings_.remainder == StickRemainder::head_bias) {
      return remainder.unsqueeze(-1) *
             biases_[static_cast<std::size_t>(context.layer)].unsqueeze(1);
    }
    const std::int64_t queries = remainder.size(2);
    const at::Tensor own = value.narrow(2, value.size(2) - queries, queries);
    return remainder.unsqueeze(-1) * own.to(remainder.scalar_type());
  }

  at::Tensor mask(const AttentionContext& context) const override {
    const at::Tensor past = past_of_pairs(context);
    return settings_.attend_current ? past >= 0 : past > 0;
  }

 private:
  StickBreakingSettings settings_;
  std::vector<at::Tensor> biases_;  // [H, D] of the layers
};

}  // namespace

AttentionWeights stick_breaking_weights(const at::Tensor& scores, const at::Tensor& mask) {
  if (!runs_loops(scores)) return composed_sticks(scores, mask);
  if (scores.scalar_type() == at::kDouble) return looped_sticks<double>(scores, mask);
  ROFORMER_ASSERT(scores.scalar_type() == at::kFloat);
  return looped_sticks<float>(scores, mask);
}

std::unique_ptr<PositionScheme> make_stick_breaking(const SchemeInputs& inputs) {
  return std::make_unique<StickBreaking>(inputs);
}

}  // namespace roformer
