// Contextual position encoding (CoPE, Golovneva 2024): a position counts only keys with open gates
// rather than all keys. Causal only. Section 14.
#include "config/schemes/cope.h"
#include "base/error.h"
#include "position/replaced_scores.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

class Cope : public PositionScheme {
 public:
  explicit Cope(const SchemeInputs& in)
      : settings_(in.settings.of<CopeSettings>()),
        tables_(add_layer_parameters(in, {.name = "table",
                                          .shape = {settings_.positions, in.shape.head_width},
                                          .initial = zeros()})) {}

  SchemeCapabilities capabilities() const override { return {.scores = ContentScores::changed}; }
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const at::Tensor& table = tables_[static_cast<std::size_t>(context.layer)];
    const at::ScalarType type = terms.scores.scalar_type();
    at::Tensor products = at::matmul(terms.query.to(type), table.t().to(type));
    if (settings_.scaled) products = products * terms.scale;
    return add_contextual_products(terms.scores, products, context.mask);
  }

 private:
  CopeSettings settings_;
  std::vector<at::Tensor> tables_;  // [positions, D]
};

}  // namespace

std::unique_ptr<PositionScheme> make_cope(const SchemeInputs& inputs) {
  return std::make_unique<Cope>(inputs);
}

namespace {

at::Tensor gates_of(const at::Tensor& scores, const at::Tensor& mask) {
  at::Tensor gates = at::sigmoid(scores);
  return mask.defined() ? gates.masked_fill(mask.logical_not(), 0) : gates;
}

at::Tensor composed(const at::Tensor& scores, const at::Tensor& products, const at::Tensor& mask) {
  const at::Tensor position = contextual_positions(scores, mask, products.size(-1));
  const at::Tensor low = position.detach().floor(), high = position.detach().ceil();
  const at::Tensor below = at::gather(products, -1, low.to(at::kLong));
  const at::Tensor above = at::gather(products, -1, high.to(at::kLong));
  return scores + above * (position - low) + below * (1 - position + low);
}

template <typename T>
at::Tensor looped(const at::Tensor& scores, const at::Tensor& products, const at::Tensor& mask) {
  GradientRecorder recorder("attention/contextual_positions", {scores, products});
  const at::Tensor result = scores.detach(), held = products.detach().contiguous();
  const at::Tensor gates = at::empty_like(result);
  const VisibleRows seen(result, mask);
  const kernels::ContextualScores<T> work{.scores = result.mutable_data_ptr<T>(),
                                          .gates = gates.mutable_data_ptr<T>(),
                                          .products = held.const_data_ptr<T>(),
                                          .positions = held.size(-1),
                                          .pairs = seen.pairs()};
  for_score_rows(result, [&](std::int64_t begin, std::int64_t end) {
    kernels::score_kernels<T>().add_contextual(work, begin, end);
  });
  return recorder.finish(result, [gates, held](const Gradients& gradients) -> Gradients {
    const at::Tensor slopes = gradients[0].contiguous();
    const at::Tensor to_products = at::zeros_like(held);
    for_score_rows(slopes, [&](std::int64_t begin, std::int64_t end) {
      thread_local Scratch<T> memory;
      kernels::score_kernels<T>().contextual_slopes(
          {.slopes = slopes.mutable_data_ptr<T>(),
           .gates = gates.const_data_ptr<T>(),
           .products = held.const_data_ptr<T>(),
           .to_products = to_products.mutable_data_ptr<T>(),
           .positions = held.size(-1),
           .keys = slopes.size(-1),
           .memory = memory(kernels::kRowsTogether * slopes.size(-1))},
          begin, end);
    });
    return {slopes, to_products};
  });
}

}  // namespace

at::Tensor contextual_positions(const at::Tensor& scores, const at::Tensor& mask,
                                std::int64_t positions) {
  return gates_of(scores, mask).flip(-1).cumsum(-1).flip(-1).clamp_max(positions - 1);
}

at::Tensor add_contextual_products(const at::Tensor& scores, const at::Tensor& products,
                                   const at::Tensor& mask) {
  if (!runs_loops(scores)) return composed(scores, products, mask);
  if (scores.scalar_type() == at::kDouble) return looped<double>(scores, products, mask);
  ROFORMER_ASSERT(scores.scalar_type() == at::kFloat);
  return looped<float>(scores, products, mask);
}

}  // namespace roformer
