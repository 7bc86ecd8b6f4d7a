// What is shown of a run: its explanation, and what is drawn of its weights.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/explain_report.h"
#include "config/task_facts.h"
#include "model/transformer_stack.h"

namespace roformer {
namespace {

constexpr std::int64_t kBiasReach = 128;  // of curves

// `name` is that of an encoder-decoder's stack.
void add_biases(const std::string& name, const TransformerStack& stack, TrainedPositions& result) {
  const StackSettings& settings = stack.settings();
  const std::int64_t reach =
      std::max<std::int64_t>(2, std::min(kBiasReach, settings.training_length));
  const std::string all = name.empty() ? "the layers" : "the layers of the " + name;
  std::set<const PositionScheme*> drawn;  // schemes with one bias for all layers
  for (std::int64_t layer = 0; layer < settings.model.layers; ++layer) {
    const PositionScheme& scheme = stack.scheme().of_layer(layer);
    const auto form_of_bias = scheme.capabilities().bias;
    if (!form_of_bias || (!form_of_bias->on_layer && !drawn.insert(&scheme).second)) continue;
    TrainedPositions::Bias bias{
        .title =
            form_of_bias->on_layer ? ExplainedLayer{.stack = name, .number = layer}.title() : all,
        .pairs = bias_of_pairs(stack.scheme(), {.layer = layer,
                                                .length = reach,
                                                .causal = settings.causal,
                                                .device = stack.embedding().table().device()})};
    bias.by_distance = bias_by_distance(bias.pairs);
    result.biases.push_back(std::move(bias));
  }
}

void add_parameters(const ParameterStore& parameters, TrainedPositions& result) {
  for (const Parameter& parameter : parameters.all()) {
    const std::string& name = parameter.spec.name;
    if (name.starts_with("position.") || name.find(".position.") != std::string::npos) {
      result.parameters.emplace_back(name, parameter.value.detach());
    }
  }
}

template <typename Model, typename Data>
ExplainedRun explained(const std::string& name, const std::string& scheme, const Model& model,
                       const Data& dataset, const ExplainOptions& options,
                       TrainedPositions positions) {
  return {.name = name,
          .scheme = scheme,
          .task = std::string(task_facts(model.settings.task).title),
          .checkpoint = model.checkpoint.string(),
          .data = dataset.folder().string(),
          .positions = std::move(positions),
          .explanation = explain(model, dataset, options)};
}

}  // namespace

TrainedPositions trained_positions(const LanguageModel& model) {
  TrainedPositions result;
  add_biases("", model.encoder(), result);
  add_parameters(model.parameters(), result);
  return result;
}

TrainedPositions trained_positions(const Translator& translator) {
  TrainedPositions result;
  add_biases("encoder", translator.model().encoder(), result);
  add_biases("decoder", translator.model().decoder(), result);
  add_parameters(translator.parameters(), result);
  return result;
}

ExplainedRun explain_run(const std::string& name, const TrainedModel& model, const Dataset& dataset,
                         const ExplainOptions& options) {
  return explained(name, model.settings.position.scheme, model, dataset, options,
                   trained_positions(*model.model));
}

ExplainedRun explain_run(const std::string& name, const TrainedTranslator& translator,
                         const ParallelDataset& dataset, const ExplainOptions& options) {
  const std::string encoder = translator.settings.position.scheme;
  const std::string decoder = translator.settings.position.of_decoder().scheme;
  return explained(name, encoder == decoder ? encoder : fmt::format("{} and {}", encoder, decoder),
                   translator, dataset, options, trained_positions(*translator.model));
}

}  // namespace roformer
