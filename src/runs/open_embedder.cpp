#include "runs/open_embedder.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/text_pairs.h"
#include "interop/import.h"
#include "runs/model_source.h"
#include "tasks/task_definition.h"
#include "tasks/untrained.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLeastLength = 3;  // [CLS], a token and [SEP]

// Weights under this program's names; the heads are among them.
using Weights = std::map<std::string, at::Tensor>;

void refuse_other_models(const fs::path& folder, TaskKind task) {
  const TaskFacts& facts = task_facts(task);
  const bool reads_texts = facts.data != TaskData::generated;
  if (reads_texts && !facts.causal && !facts.has_decoder) return;
  throw_usage(folder.string(),
              fmt::format("is the run of a {}, which is no encoder of texts", facts.title),
              "a run with task mlm, classification, glue, tagging, matching or embedding, or the "
              "folder of an encoder");
}

// The pooling that the model was trained with.
TextPooling trained_pooling(const Settings& settings) {
  switch (settings.task) {
    case TaskKind::glue:
      return settings.glue.pooling;
    case TaskKind::classification:
      return settings.classification.pooling;
    case TaskKind::matching:
      return settings.matching.pooling;
    default:
      return settings.embedding.pooling;
  }
}

OpenedEmbedder embedder_of(Settings settings, std::shared_ptr<const Tokenizer> tokenizer,
                           const ComputePlan& plan, const Weights& weights,
                           const EmbedderOptions& options) {
  require_sentence_tokens(*tokenizer);
  EmbeddingSettings& embedding = settings.embedding;
  embedding.pooling = options.pooling.value_or(trained_pooling(settings));
  embedding.normalize = options.normalize.value_or(embedding.normalize);
  settings.task = TaskKind::embedding;
  const std::int64_t length = options.length.value_or(settings.data.length);
  if (length < kLeastLength) {
    throw_usage("--length", fmt::format("{} leaves no token beside [CLS] and [SEP]", length),
                "3 at least");
  }
  require_positions(settings, "--length", length);
  settings.data.length = length;
  const WithoutInitialValues loaded;
  auto model = std::make_unique<Embedder>(settings, tokenizer->vocabulary_size(), plan);
  const at::NoGradGuard no_gradient;
  for (const Parameter& parameter : model->parameters().all()) {
    const auto found = weights.find(parameter.spec.name);
    if (found == weights.end() || found->second.sizes().vec() != parameter.spec.shape) {
      throw_usage("position",
                  fmt::format("does not fit the trained weights, which have no such \"{}\"",
                              parameter.spec.name),
                  "change only options without parameters");
    }
    parameter.value.detach().copy_(found->second);
  }
  model->parameters().apply_constraints();
  return {.settings = std::move(settings),
          .tokenizer = std::move(tokenizer),
          .model = std::move(model)};
}

OpenedEmbedder of_run(const fs::path& folder, const EmbedderOptions& options) {
  refuse_other_models(folder, definition_of_run(folder, options.opening.checkpoint).task);
  const OpenedRun run = open_run(folder, options.opening);
  Weights weights;
  for (const Parameter& parameter : run.model->parameters().all()) {
    weights[parameter.spec.name] = parameter.value;
  }
  OpenedEmbedder result = embedder_of(run.settings, load_tokenizer(run.checkpoint),
                                      run.model->plan(), weights, options);
  warn_of_untrained_rows(run, result.settings.data.length);
  return result;
}

OpenedEmbedder of_hugging_face(const fs::path& folder, const EmbedderOptions& options) {
  const Family* const family = family_of_folder(folder);
  if (family != nullptr && family->kind != FamilyKind::encoder) {
    throw_usage(folder.string(),
                fmt::format("holds a {}, which is no encoder of texts", family->title),
                "the folder of an encoder");
  }
  const bool one_of_several =
      options.opening.checkpoint != "best" || options.opening.weights.has_value();
  if (one_of_several) {
    throw_usage(folder.string(), "is no run, and --checkpoint and --weights choose among a run's");
  }
  for (const Override& override : options.opening.overrides) {
    if (may_change_when_trained(override.key)) continue;
    throw_usage("--" + override.key, "cannot be changed for a trained model");
  }
  const ModelSource source = open_model_source(folder);
  std::vector<Override> keys = {{"task", to_word(TaskKind::embedding)},
                                {"data.length", std::to_string(source.settings.data.length)}};
  for (Override& key : model_source_keys(folder)) {
    if (find_key(key.key)->applies_to(TaskKind::embedding)) keys.push_back(std::move(key));
  }
  keys.insert(keys.end(), options.opening.overrides.begin(), options.opening.overrides.end());
  Settings settings = default_settings(keys);
  prepare_threads(settings.threads);
  const ComputePlan plan = plan_for_use(settings, options.opening.overrides);
  return embedder_of(std::move(settings), source.tokenizer, plan, source.weights, options);
}

}  // namespace

OpenedEmbedder open_embedder(const fs::path& run_or_folder, const EmbedderOptions& options) {
  return is_hugging_face_folder(run_or_folder) ? of_hugging_face(run_or_folder, options)
                                               : of_run(run_or_folder, options);
}

}  // namespace roformer
