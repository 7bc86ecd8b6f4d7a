// Contextual position encoding (CoPE, Golovneva 2024): a position counts the keys whose gate is
// open instead of all keys. Causal only. Section 14.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include "config/schemes/cope.h"
#include "position/contextual_positions.h"
#include "position/scheme.h"

namespace roformer {
namespace {

class Cope : public PositionScheme {
 public:
  explicit Cope(const SchemeInputs& in) : settings_(in.settings.of<CopeSettings>()) {
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) {
      tables_.push_back(in.parameters.add({.name = layer_parameter(layer, "table"),
                                           .shape = {settings_.positions, in.shape.head_width},
                                           .initial = zeros(),
                                           .depth = static_cast<int>(layer) + 1}));
    }
  }

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

}  // namespace roformer
