#include "runs/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "runs/resume.h"
#include "runs/shared_options.h"
#include "runs/stored_weights.h"
#include "runs/untrained.h"
#include "tasks/glue_task.h"
#include "tasks/matching_task.h"
#include "tasks/probe_answers.h"
#include "tensor/safetensors.h"
#include "training/checkpoint.h"
#include "training/run_directory.h"

namespace roformer {
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

// The file of weights is held against the model that is about to be built.
void require_fitting(const Safetensors& weights, const OpenedCheckpoint& opened,
                     const TranslationVocabularies& vocabularies,
                     const std::vector<Override>& overrides) {
  const bool same_model =
      std::all_of(overrides.begin(), overrides.end(), [](const Override& override) {
        return !override.key.starts_with("position") && !override.key.starts_with("attention");
      });
  if (same_model) return require_parameters(opened.settings, vocabularies, weights);
  try {
    require_parameters(opened.settings, vocabularies, weights);
  } catch (const Error& error) {
    throw_usage(
        flags_of(overrides),
        "does not fit the trained weights, because the parameters differ: " + error.parts().message,
        "change only what has no parameters of its own, or train a model with it");
  }
}

// `make(plan)` makes the model and returns its parameters, which are filled.
template <class Make>
void build(const OpenedCheckpoint& opened, const TranslationVocabularies& vocabularies,
           const TrainedModelOptions& options, const Make& make) {
  const WeightsKind weights = options.weights.value_or(opened.settings.training.weights);
  const std::filesystem::path file = weights_file(opened.checkpoint, weights);
  require_fitting(Safetensors(file), opened, vocabularies, options.overrides);
  prepare_threads(opened.settings.threads);
  const WithoutInitialValues loaded;
  ParameterStore& parameters = make(plan_for_use(opened.settings, options.overrides));
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
  }
  parameters.apply_constraints();
}

OpenedCheckpoint open_checkpoint(const std::filesystem::path& checkpoint,
                                 const TrainedModelOptions& options) {
  OpenedCheckpoint result{.checkpoint = checkpoint, .overrides = options.overrides};
  const Settings stored = read_run_settings(result.checkpoint);
  result.settings = load_settings(result.checkpoint / "config.yaml",
                                  with_shared_options(stored, options.overrides));
  if (!options.among_others) refuse_idle_flags(result.settings, options.overrides);
  warn_of_other_scheme(stored, result.settings);
  return result;
}

// Of a run whose tokenizer lies in its checkpoint. `admit(settings)` refuses that of another task,
// and may change what the model is made of; `make(result, plan)` makes it and returns its
// parameters.
template <class Trained, class Admit, class Make>
Trained open_trained(const std::filesystem::path& run_or_checkpoint,
                     const TrainedModelOptions& options, const Admit& admit, const Make& make) {
  check_overrides(options.overrides);
  return use_checkpoint(run_or_checkpoint, options.checkpoint, [&](const auto& checkpoint) {
    const ElapsedLine elapsed("reading " + checkpoint.string());
    Trained result{open_checkpoint(checkpoint, options)};
    admit(result.settings);
    result.tokenizer = load_tokenizer(result.checkpoint);
    build(result, {.source = result.tokenizer->vocabulary_size()}, options,
          [&](const ComputePlan& plan) -> ParameterStore& { return make(result, plan); });
    return result;
  });
}

ParameterStore& make_language_model(TrainedModel& result, const ComputePlan& plan) {
  result.model =
      std::make_unique<LanguageModel>(result.settings, result.tokenizer->vocabulary_size(), plan);
  return result.model->parameters();
}

ParameterStore& make_classifier(TrainedClassifier& result, const ClassifierShape& shape,
                                const ComputePlan& plan) {
  result.classifier = std::make_unique<Classifier>(
      result.settings, result.tokenizer->vocabulary_size(), shape, plan);
  return result.classifier->parameters();
}

}  // namespace

const TaskFacts& task_of_run(const std::filesystem::path& run_or_checkpoint,
                             const std::string& checkpoint) {
  const bool stored = is_run(run_or_checkpoint);  // a checkpoint is, too
  return task_facts(
      read_run_settings(stored ? run_or_checkpoint : find_checkpoint(run_or_checkpoint, checkpoint))
          .task);
}

ComputePlan plan_for_use(const Settings& settings, const std::vector<Override>& overrides) {
  const bool given = std::any_of(overrides.begin(), overrides.end(), [](const Override& override) {
    return override.key == "training.precision";
  });
  return plan_compute(settings.device, given ? settings.training.precision : Precision::fp32,
                      settings.model.width);
}

std::vector<Override> computing_overrides(const std::vector<Override>& overrides) {
  std::vector<Override> result;
  std::ranges::copy_if(overrides, std::back_inserter(result), [](const Override& override) {
    return !override.key.starts_with("position") && !override.key.starts_with("attention");
  });
  return result;
}

bool may_change_when_trained(const std::string& key) {
  return key.starts_with("position.") || key.starts_with("attention.") ||
         key.starts_with("decoding.") ||
         std::find(kRuntimeKeys.begin(), kRuntimeKeys.end(), key) != kRuntimeKeys.end();
}

TrainedModel open_trained_model(const std::filesystem::path& run_or_checkpoint,
                                const TrainedModelOptions& options) {
  const auto admit = [&](const Settings& settings) {
    const TaskFacts& facts = task_facts(settings.task);
    if (facts.fills_masks || facts.generates) return;
    throw_usage(run_or_checkpoint.string(), "is not a language model's run",
                "a run with task mlm or causal_lm");
  };
  return open_trained<TrainedModel>(run_or_checkpoint, options, admit, make_language_model);
}

TrainedModel open_trained_probe(const std::filesystem::path& run_or_checkpoint,
                                const TrainedModelOptions& options) {
  const auto admit = [&](Settings& settings) {
    if (task_facts(settings.task).data != TaskData::generated) {
      throw_usage(run_or_checkpoint.string(), "is not the run of a probe",
                  "a run with task probe or masked_probe");
    }
    settings = with_room_for_tests(settings);
  };
  return open_trained<TrainedModel>(run_or_checkpoint, options, admit, make_language_model);
}

TrainedClassifier open_trained_classifier(const std::filesystem::path& run_or_checkpoint,
                                          const TrainedModelOptions& options) {
  const auto admit = [&](const Settings& settings) {
    const TaskFacts& facts = task_facts(settings.task);
    if (facts.predicts_labels) return;
    throw_usage(run_or_checkpoint.string(), "is not a classifier's run",
                facts.fills_masks || facts.generates
                    ? fmt::format("fine-tune it first: roformer train configs/glue/mrpc.yaml "
                                  "--model.from \"{}\"",
                                  run_or_checkpoint.string())
                    : "a run with task glue");
  };
  return open_trained<TrainedClassifier>(
      run_or_checkpoint, options, admit,
      [](TrainedClassifier& result, const ComputePlan& plan) -> ParameterStore& {
        return make_classifier(result, glue_shape(result.settings.glue), plan);
      });
}

TrainedClassifier open_trained_matcher(const std::filesystem::path& run_or_checkpoint,
                                       const TrainedModelOptions& options) {
  const auto admit = [&](const Settings& settings) {
    if (task_facts(settings.task).matches) return;
    throw_usage(run_or_checkpoint.string(), "is not a matcher's run", "a run with task matching");
  };
  return open_trained<TrainedClassifier>(
      run_or_checkpoint, options, admit,
      [](TrainedClassifier& result, const ComputePlan& plan) -> ParameterStore& {
        return make_classifier(result, matching_shape(result.settings.matching), plan);
      });
}

TrainedTranslator open_trained_translator(const std::filesystem::path& run_or_checkpoint,
                                          const TrainedModelOptions& options) {
  check_overrides(options.overrides);
  return use_checkpoint(run_or_checkpoint, options.checkpoint, [&](const auto& checkpoint) {
    const ElapsedLine elapsed("reading " + checkpoint.string());
    TrainedTranslator result{open_checkpoint(checkpoint, options)};
    const Settings& settings = result.settings;
    if (!task_facts(settings.task).translates) {
      throw_usage(run_or_checkpoint.string(), "is not a translator's run",
                  "a run with task translation");
    }
    result.tokenizers = load_translation_tokenizers(result.checkpoint);
    const TranslationVocabularies vocabularies{
        .source = result.tokenizers.source->vocabulary_size(),
        .target = result.tokenizers.target->vocabulary_size(),
        .joint = result.tokenizers.joint};
    build(result, vocabularies, options, [&](const ComputePlan& plan) -> ParameterStore& {
      result.translator = std::make_unique<Translator>(settings, vocabularies, plan);
      return result.translator->parameters();
    });
    return result;
  });
}

void require_positions(const Settings& settings, const std::string& what, std::int64_t length,
                       std::int64_t shift) {
  const std::int64_t most = maximal_length(settings.position);
  if (most == 0 || shift + length <= most) return;
  throw_usage(what,
              fmt::format("{} tokens{} do not fit the {} positions that {} has", length,
                          shift > 0 ? fmt::format(" from position {} on", shift) : "", most,
                          settings.position.scheme),
              "a shorter text, or a scheme without a table");
}

}  // namespace roformer
