// What is shown of a run: its explanation, and what is drawn of its weights.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/task_facts.h"
#include "explain/explain_report.h"
#include "model/transformer_stack.h"

namespace roformer {
namespace {

constexpr std::int64_t kBiasReach = 128;  // of curves

}  // namespace

TrainedPositions trained_positions(const LanguageModel& model) {
  TrainedPositions result;
  const TransformerStack& stack = model.encoder();
  const StackSettings& settings = stack.settings();
  const std::int64_t reach =
      std::max<std::int64_t>(2, std::min(kBiasReach, settings.training_length));
  std::map<const PositionScheme*, std::size_t> drawn;  // schemes with one bias for all layers
  for (std::int64_t layer = 0; layer < settings.model.layers; ++layer) {
    const PositionScheme& scheme = stack.scheme().of_layer(layer);
    if (!scheme.has_bias()) continue;
    if (!scheme.bias_of_each_layer() && !drawn.try_emplace(&scheme, 0).second) continue;
    TrainedPositions::Bias bias{
        .title = scheme.bias_of_each_layer() ? fmt::format("layer {}", layer) : "the layers",
        .pairs = bias_of_pairs(stack.scheme(), {.layer = layer,
                                                .length = reach,
                                                .causal = settings.causal,
                                                .device = stack.embedding().table().device()})};
    bias.by_distance = bias_by_distance(bias.pairs);
    result.biases.push_back(std::move(bias));
  }
  for (const Parameter& parameter : model.parameters().all()) {
    const std::string& name = parameter.spec.name;
    if (name.starts_with("position.") || name.find(".position.") != std::string::npos) {
      result.parameters.emplace_back(name, parameter.value.detach());
    }
  }
  return result;
}

ExplainedRun explain_run(const std::string& name, const TrainedModel& model, const Dataset& dataset,
                         const ExplainOptions& options) {
  return {.name = name,
          .scheme = model.settings.position.scheme,
          .task = std::string(task_facts(model.settings.task).title),
          .checkpoint = model.checkpoint.string(),
          .data = dataset.folder().string(),
          .positions = trained_positions(*model.model),
          .explanation = explain(model, dataset, options)};
}

}  // namespace roformer
