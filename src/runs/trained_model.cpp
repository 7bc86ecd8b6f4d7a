#include "runs/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/words.h"
#include "runs/run_settings.h"
#include "runs/shared_options.h"
#include "runs/stored_weights.h"
#include "tasks/untrained.h"
#include "tensor/safetensors.h"
#include "training/checkpoint.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array<const char*, 4> kRuntimeKeys = {"device", "threads", "training.precision",
                                                     "position"};

void check_overrides(const std::vector<Override>& overrides) {
  for (const Override& override : overrides) {
    if (may_change_when_trained(override.key)) continue;
    throw_usage("--" + override.key, "cannot be changed for a trained model",
                "--position..., --attention..., --device, --threads and --training.precision can");
  }
}

std::string flags_of(const std::vector<Override>& overrides) {
  std::string flags;
  for (const Override& override : overrides) {
    if (!flags.empty()) flags += " ";
    flags += fmt::format("--{} {}", override.key, override.text);
  }
  return flags;
}

// Compares the file of weights with the model that is about to be built.
void require_fitting(const Safetensors& weights, const OpenedCheckpoint& opened,
                     const TranslationVocabularies& vocabularies,
                     const std::vector<Override>& overrides) {
  const bool same_model = std::ranges::all_of(overrides, [](const Override& override) {
    return !override.key.starts_with("position") && !override.key.starts_with("attention");
  });
  if (same_model) return require_parameters(opened.settings, vocabularies, weights);
  try {
    require_parameters(opened.settings, vocabularies, weights);
  } catch (const Error& error) {
    throw_usage(
        flags_of(overrides),
        "does not fit the trained weights, because the parameters differ: " + error.parts().message,
        "change only options without parameters, or train a model with it");
  }
}

void build(OpenedRun& opened, const TranslationVocabularies& vocabularies,
           const TrainedModelOptions& options) {
  const WeightsKind weights = options.weights.value_or(opened.settings.training.weights);
  const fs::path file = weights_file(opened.checkpoint, weights);
  require_fitting(Safetensors(file), opened, vocabularies, options.overrides);
  prepare_threads(opened.settings.threads);
  const ComputePlan plan = plan_for_use(opened.settings, opened.overrides);
  opened.weight_form = weight_form(plan, options.int8);
  // Rounded to eight bits, the matrices take a quarter of their memory; the rest is read rarely.
  const WithoutInitialValues loaded(options.int8 ? ValueMemory::of_file : ValueMemory::own);
  opened.model =
      task_definition(opened.settings.task).make_model(opened.settings, vocabularies, plan);
  ParameterStore& parameters = opened.model->parameters();
  if (!options.weights && has_average(opened.checkpoint)) {
    log::info(
        "{}: its {} weights are used, as training.weights says; --weights {} takes the others",
        opened.checkpoint.string(), to_word(weights),
        to_word(weights == WeightsKind::raw ? WeightsKind::ema : WeightsKind::raw));
  }
  load_parameters(file, parameters);
  for (const Parameter& parameter : parameters.all()) {
    require_finite(file, parameter.spec.name, parameter.value,
                   "an earlier checkpoint with --checkpoint STEP, or train with a lower "
                   "training.learning_rate");
    parameters.release(parameter.value);
  }
  parameters.apply_constraints();
}

OpenedCheckpoint open_checkpoint(const std::filesystem::path& checkpoint,
                                 const TrainedModelOptions& options) {
  OpenedCheckpoint result{.checkpoint = checkpoint, .settings = {}, .overrides = options.overrides};
  const Settings stored = read_run_settings(result.checkpoint);
  result.settings = load_settings(result.checkpoint / "config.yaml",
                                  with_shared_options(stored, options.overrides));
  if (!options.among_others) refuse_idle_flags(result.settings, options.overrides);
  warn_of_other_scheme(stored, result.settings);
  return result;
}

// Refuses a run of another task than the noun's before building its model.
void require_noun(const fs::path& run, TaskKind task, std::string_view noun) {
  if (noun.empty() || task_definition(task).noun == noun) return;
  std::vector<std::string> tasks;
  for (const TaskDefinition& definition : task_definitions()) {
    if (definition.noun == noun) tasks.push_back(to_word(definition.task));
  }
  throw_usage(run.string(), fmt::format("is not a {}'s run", noun),
              fmt::format("a run with task {}", fmt::join(tasks, " or ")));
}

TranslationVocabularies load_tokenizers(OpenedCheckpoint& opened) {
  if (!task_facts(opened.settings.task).has_decoder) {
    opened.tokenizer = load_tokenizer(opened.checkpoint);
    return {.source = opened.tokenizer->vocabulary_size()};
  }
  opened.tokenizers = load_translation_tokenizers(opened.checkpoint);
  return {.source = opened.tokenizers.source->vocabulary_size(),
          .target = opened.tokenizers.target->vocabulary_size(),
          .joint = opened.tokenizers.joint};
}

}  // namespace

const TaskDefinition& definition_of_run(const fs::path& run_or_checkpoint,
                                        const std::string& checkpoint) {
  const bool stored = is_run(run_or_checkpoint);  // true for a checkpoint too
  return task_definition(
      read_run_settings(stored ? run_or_checkpoint : find_checkpoint(run_or_checkpoint, checkpoint))
          .task);
}

std::vector<Override> computing_overrides(const std::vector<Override>& overrides) {
  std::vector<Override> result;
  std::ranges::copy_if(overrides, std::back_inserter(result), [](const Override& override) {
    return !override.key.starts_with("position") && !override.key.starts_with("attention");
  });
  return result;
}

ComputePlan plan_for_use(const Settings& settings, const std::vector<Override>& overrides) {
  const bool given = std::ranges::any_of(
      overrides, [](const Override& override) { return override.key == "training.precision"; });
  return plan_compute(settings.device, given ? settings.training.precision : Precision::fp32,
                      settings.model.width);
}

bool may_change_when_trained(const std::string& key) {
  const Key* const known = find_key(key);
  return key.starts_with("position.") || key.starts_with("attention.") ||
         key.starts_with("decoding.") || std::ranges::count(kRuntimeKeys, key) > 0 ||
         (known != nullptr && known->of_file);
}

OpenedRun open_run(const fs::path& run_or_checkpoint, const TrainedModelOptions& given,
                   std::string_view noun) {
  check_overrides(given.overrides);
  TrainedModelOptions options = given;
  if (options.int8) {  // at the front, so that a contrary setting of the user wins and is refused
    options.overrides.insert(options.overrides.begin(),
                             {{"device", "cpu"}, {"training.precision", "fp32"}});
  }
  return use_checkpoint(run_or_checkpoint, options.checkpoint, [&](const auto& checkpoint) {
    const ElapsedLine elapsed("reading " + checkpoint.string());
    OpenedRun run{open_checkpoint(checkpoint, options)};
    require_noun(run_or_checkpoint, run.settings.task, noun);
    const TaskDefinition& task = task_definition(run.settings.task);
    if (task.settings_for_use != nullptr) run.settings = task.settings_for_use(run.settings);
    const TranslationVocabularies vocabularies = load_tokenizers(run);
    build(run, vocabularies, options);
    return run;
  });
}

}  // namespace roformer
