// Stick-breaking attention (Tan 2025, arXiv:2410.17980): beginning with the nearest key, each key
// takes a share of what the nearer ones left. It needs neither a softmax nor other positions.
// Section 23.
#include <vector>

#include "base/error.h"
#include "config/schemes/stick_breaking.h"
#include "position/replaced_scores.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"

namespace roformer {
namespace {

// Composed of LibTorch's operations, for devices without our loops.
AttentionWeights composed_sticks(const at::Tensor& scores, const at::Tensor& mask) {
  at::Tensor taken = -at::log_sigmoid(-scores);
  if (mask.defined()) taken = taken.masked_fill(mask.logical_not(), 0);
  const at::Tensor later = taken.flip(-1).cumsum(-1).flip(-1);  // includes the key's own
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
  const VisibleRows seen(weights, mask);
  const at::Tensor shares = recorder.wanted() ? at::empty_like(weights) : at::Tensor();
  const at::Tensor remainder =
      at::empty({weights.size(0), weights.size(1), weights.size(2)}, weights.options());
  const kernels::BreakSticks<T> sticks{
      .scores = weights.mutable_data_ptr<T>(),
      .shares = shares.defined() ? shares.mutable_data_ptr<T>() : nullptr,
      .remainder = remainder.mutable_data_ptr<T>(),
      .pairs = seen.pairs()};
  for_score_rows(weights, [&](std::int64_t begin, std::int64_t end) {
    kernels::score_kernels<T>().break_sticks(sticks, begin, end);
  });
  const std::vector<at::Tensor> results = recorder.finish(
      {weights, remainder}, [weights, shares, remainder](const Gradients& gradients) -> Gradients {
        const at::Tensor slopes = gradients[0].defined()
                                      ? gradients[0].clone(at::MemoryFormat::Contiguous)
                                      : at::zeros_like(weights);
        const at::Tensor of_remainder =
            gradients[1].defined() ? gradients[1].contiguous() : at::Tensor();
        const kernels::StickSlopes<T> work{
            .slopes = slopes.mutable_data_ptr<T>(),
            .weights = weights.const_data_ptr<T>(),
            .shares = shares.const_data_ptr<T>(),
            .remainder = remainder.const_data_ptr<T>(),
            .remainder_slopes = of_remainder.defined() ? of_remainder.const_data_ptr<T>() : nullptr,
            .keys = weights.size(-1)};
        for_score_rows(weights, [&](std::int64_t begin, std::int64_t end) {
          kernels::score_kernels<T>().stick_slopes(work, begin, end);
        });
        return {slopes};
      });
  return {.weights = results[0], .remainder = results[1]};
}

class StickBreaking : public PositionScheme {
 public:
  explicit StickBreaking(const SchemeInputs& in)
      : settings_(in.settings.of<StickBreakingSettings>()) {
    if (settings_.remainder != StickRemainder::head_bias) return;
    biases_ = add_layer_parameters(in, {.name = "head_bias",
                                        .shape = {in.shape.heads, in.shape.head_width},
                                        .initial = zeros(),
                                        .decay = false});
  }

  SchemeCapabilities capabilities() const override { return {.weights = true}; }
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
    const at::Tensor query = context.queries.tensor().unsqueeze(1);
    const at::Tensor key = context.keys.tensor().unsqueeze(0);
    return settings_.attend_current ? key <= query : key < query;
  }

 private:
  StickBreakingSettings settings_;
  std::vector<at::Tensor> biases_;  // [H, D], one per layer
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
