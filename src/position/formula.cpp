// A bias or new scores, given by the user's formula (config/formula/expression.h). It may have
// trained parameters for the model, for each layer, for each head or for each head of each layer.
#include "config/schemes/formula.h"

#include <algorithm>
#include <utility>

#include "config/formula/parameters.h"
#include "position/formula_values.h"
#include "position/scheme.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// All initial values of one parameter in one layer, head by head.
std::vector<double> initial_values(const FormulaParameter& parameter, const ModelShape& shape,
                                   std::int64_t layer) {
  const FormulaNode initial = parse_formula(parameter.initial, initial_names());
  std::vector<double> values;
  for (std::int64_t head = 0; head < (parameter.of_head() ? shape.heads : 1); ++head) {
    for (std::int64_t index = 0; index < std::max<std::int64_t>(parameter.size, 1); ++index) {
      values.push_back(initial_value(initial, {.head = head,
                                               .heads = shape.heads,
                                               .layer = layer,
                                               .layers = shape.layers,
                                               .index = index,
                                               .size = parameter.size}));
    }
  }
  return values;
}

std::function<void(at::Tensor&)> within(const FormulaParameter& parameter) {
  if (!parameter.least && !parameter.most) return {};
  return [least = parameter.least, most = parameter.most](at::Tensor& values) {
    if (least) values.clamp_min_(*least);
    if (most) values.clamp_max_(*most);
  };
}

at::Tensor tensor_of(const FormulaParameter& parameter, std::int64_t layer,
                     const SchemeInputs& in) {
  const std::vector<double> values = initial_values(parameter, in.shape, layer);
  std::vector<std::int64_t> shape{parameter.of_head() ? in.shape.heads : 1};
  if (parameter.size > 0) shape.push_back(parameter.size);
  if (!parameter.trained) return at::tensor(values, at::kDouble).view(shape);
  const bool of_layer = parameter.of_layer();
  return in.parameters.add(
      {.name = of_layer ? layer_parameter(layer, parameter.name) : "position." + parameter.name,
       .shape = shape,
       .initial =
           [values](std::span<float> all, Random&) {
             std::ranges::transform(values, all.begin(),
                                    [](double x) { return static_cast<float>(x); });
           },
       .decay = false,
       .depth = of_layer ? static_cast<int>(layer) + 1 : 0,
       .constraint = within(parameter)});
}

std::vector<FormulaNumbers> numbers_of(const SchemeInputs& in) {
  std::vector<FormulaNumbers> all;
  for (const FormulaParameter& parameter : in.settings.of<FormulaSettings>().parameters) {
    FormulaNumbers numbers{.name = parameter.name,
                           .layers = {},
                           .table = parameter.size > 0,
                           .clamped = parameter.outside == FormulaOutside::clamp};
    const std::int64_t layers = parameter.of_layer() ? in.shape.layers : 1;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      numbers.layers.push_back(tensor_of(parameter, layer, in));
    }
    all.push_back(std::move(numbers));
  }
  return all;
}

class Formula : public PositionScheme {
 public:
  explicit Formula(const SchemeInputs& in)
      : replaces_(!in.settings.of<FormulaSettings>().score.empty()),
        values_(parse_formula(formula_text(in.settings.of<FormulaSettings>()),
                              formula_names(in.settings.of<FormulaSettings>())),
                numbers_of(in), in.shape) {}

  SchemeCapabilities capabilities() const override {
    if (replaces_) return {.scores = ContentScores::changed};
    const auto& uses = values_.root().uses;
    return {.bias = BiasDependence{.on_layer = uses.layer,
                                   .on_length = uses.length,
                                   .on_distance_alone = uses.by_distance}};
  }
  at::Tensor bias(const AttentionContext& context) const override {
    if (replaces_) return {};
    return values_.root().uses.by_distance ? PositionScheme::bias(context) : values_.pairs(context);
  }
  at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const override {
    return values_.at_distances(context, distances);
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    return values_.scores(context, terms.scores);
  }

 private:
  bool replaces_;
  FormulaEvaluator values_;
};

}  // namespace

std::unique_ptr<PositionScheme> make_formula(const SchemeInputs& inputs) {
  return std::make_unique<Formula>(inputs);
}

}  // namespace roformer
