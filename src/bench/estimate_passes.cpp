#include "bench/estimate_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "bench/step_arithmetic.h"
#include "config/task_facts.h"
#include "position/scheme.h"
#include "tasks/example_training.h"

namespace roformer {
namespace {

StepShare share_of_step(std::int64_t batch, std::int64_t accumulation, bool by_tokens,
                        std::int64_t processes) {
  const std::int64_t together = std::gcd(accumulation, processes);
  const StepShare sharing{.passes = accumulation / together, .parts = processes / together};
  if (by_tokens || batch % sharing.parts == 0) return sharing;
  throw_usage("training.batch",
              fmt::format("a step has {} micro-batches of {} rows, which {} processes cannot share "
                          "evenly",
                          accumulation, batch, processes),
              fmt::format("--training.batch {}",
                          (batch + sharing.parts - 1) / sharing.parts * sharing.parts));
}

}  // namespace

std::vector<EstimatedPass> passes_of(const Settings& settings, std::int64_t processes) {
  std::vector<StageSettings> stages = settings.stages;
  if (stages.empty()) stages.emplace_back();
  std::vector<EstimatedPass> passes;
  for (const StageSettings& stage : stages) {
    EstimatedPass pass{.settings = settings,
                       .stage = std::ssize(passes),
                       .steps = static_cast<double>(stage.steps)};
    TrainingSettings& training = pass.settings.training;
    pass.settings.stages.clear();
    pass.settings.data.length = stage.length.value_or(settings.data.length);
    const std::int64_t batch = stage.batch.value_or(training.batch);
    pass.sharing = share_of_step(batch, stage.accumulation.value_or(training.accumulation),
                                 training.batch_tokens > 0, processes);
    training.batch = std::max<std::int64_t>(1, batch / pass.sharing.parts);
    training.batch_tokens /= pass.sharing.parts;
    training.accumulation = pass.sharing.passes;
    passes.push_back(std::move(pass));
  }
  return passes;
}

MeanBatch mean_of_data(const OpenedEstimate& opened, const EstimatedPass& pass) {
  constexpr std::int64_t kBatches = 8;
  MeanBatch mean;
  for (std::int64_t i = 0; i < kBatches; ++i) {
    const auto batch = opened.task->make_batch_of(pass.stage, i);
    mean.tokens += static_cast<double>(batch->tokens);
    mean.targets += static_cast<double>(batch->target_count);
    const auto* const examples = dynamic_cast<const ExampleBatch*>(batch.get());
    mean.texts += examples != nullptr ? static_cast<double>(examples->texts.lengths.size()) : 0;
  }
  const double all = static_cast<double>(kBatches * pass.sharing.parts);
  mean.tokens /= all;
  mean.targets /= all;
  mean.texts /= all;
  const TrainingSettings& training = pass.settings.training;
  if (is_labelled(pass.settings)) return mean;
  const bool filled = training.batch_tokens > 0;  // with pairs, whose number nobody counts here
  mean.texts = filled ? mean.tokens / kTokensOfSentence : static_cast<double>(training.batch);
  return mean;
}

MeanBatch mean_of_assumptions(const EstimatedPass& pass, const AssumedData& size) {
  const Settings& settings = pass.settings;
  const TrainingSettings& training = settings.training;
  MeanBatch mean{.texts = static_cast<double>(training.batch)};
  if (training.batch_tokens > 0) {
    mean.texts = static_cast<double>(training.batch_tokens) / size.tokens;
  }
  const bool rows = !is_labelled(settings) && settings.task != TaskKind::translation;
  mean.tokens = mean.texts * (rows ? static_cast<double>(settings.data.length) : size.tokens);
  const bool all = task_facts(settings.task).causal || !rows;
  mean.targets = mean.tokens * (all ? 1 : settings.data.masking.probability);
  return mean;
}

double gflop_of_pass(const Settings& settings, const MeanBatch& batch) {
  const double length = batch.tokens / batch.texts;
  if (is_labelled(settings)) {
    const auto texts =
        static_cast<std::size_t>(std::max<std::int64_t>(1, std::llround(batch.texts)));
    const std::vector<std::int64_t> lengths(texts, std::max<std::int64_t>(1, std::llround(length)));
    const double made = static_cast<double>(texts) * static_cast<double>(lengths[0]);
    return 3 * text_gflop(settings, lengths, needs_all_rows(settings)) * batch.tokens / made;
  }
  if (settings.task == TaskKind::translation) {
    return batch.texts * pair_gflop(settings, length, length);
  }
  return language_gflop(settings,
                        {.tokens = batch.tokens, .targets = batch.targets, .length = length});
}

std::int64_t layers_with_scores(const Settings& settings, const ComputePlan& plan) {
  const ParametersOnly silent([](const ParameterSpec&) {});
  ParameterStore store(0);
  const ModelSettings& model = settings.model;
  const auto scheme = make_scheme({.settings = settings.position,
                                   .shape = {.layers = model.layers,
                                             .width = model.width,
                                             .embedding_width = model.embedding_width,
                                             .heads = model.heads,
                                             .head_width = model.features_of_head(),
                                             .causal = task_facts(settings.task).causal,
                                             .training_length = settings.data.length},
                                   .parameters = store});
  std::int64_t layers = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const SchemeCapabilities capabilities = scheme->of_layer(i).capabilities();
    const bool tiles = plan.device.is_cpu() && settings.attention.dropout == 0 &&
                       (capabilities.relative_form || capabilities.attends);
    layers += !tiles && (capabilities.scores != ContentScores::none || capabilities.value_term ||
                         capabilities.weights || capabilities.bias_of_positions);
  }
  return layers;
}

}  // namespace roformer
