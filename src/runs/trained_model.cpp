#include "runs/trained_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
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
#include "runs/shared_options.h"
#include "runs/stored_settings.h"
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

// Every answer of such weights would be "not a number".
void require_finite(const std::filesystem::path& file, const ParameterStore& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    if (at::isfinite(parameter.value).all().item<bool>()) continue;
    throw_failure(file.string(),
                  fmt::format("\"{}\" holds numbers that are not finite: the training had diverged",
                              parameter.spec.name),
                  "an earlier checkpoint with --checkpoint STEP, or train with a lower "
                  "training.learning_rate");
  }
}

void fill_parameters(const std::filesystem::path& file, const std::vector<Override>& overrides,
                     ParameterStore& parameters) {
  const bool same_model =
      std::all_of(overrides.begin(), overrides.end(), [](const Override& override) {
        return !override.key.starts_with("position") && !override.key.starts_with("attention");
      });
  if (same_model) return load_parameters(file, parameters);
  const Safetensors readable(file);  // a damaged file is not the overrides' fault
  try {
    load_parameters(file, parameters);
  } catch (const Error& error) {
    throw_usage(
        flags_of(overrides),
        "does not fit the trained weights, because the parameters differ: " + error.parts().message,
        "change only what has no parameters of its own, or train a model with it");
  }
}

void load_weights(const OpenedCheckpoint& opened, const TrainedModelOptions& options,
                  ParameterStore& parameters) {
  const WeightsKind weights = options.weights.value_or(opened.settings.training.weights);
  const std::filesystem::path file = weights_file(opened.checkpoint, weights);
  if (!options.weights && has_average(opened.checkpoint)) {
    log::info(
        "{}: its {} weights are used, as training.weights says; --weights {} takes the others",
        opened.checkpoint.string(), to_word(weights),
        to_word(weights == WeightsKind::raw ? WeightsKind::ema : WeightsKind::raw));
  }
  fill_parameters(file, options.overrides, parameters);
  require_finite(file, parameters);
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
    prepare_threads(result.settings.threads);
    const WithoutInitialValues loaded;
    load_weights(result, options, make(result, plan_for_use(result.settings, options.overrides)));
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
    prepare_threads(settings.threads);
    const WithoutInitialValues loaded;
    result.translator = std::make_unique<Translator>(
        settings,
        TranslationVocabularies{.source = result.tokenizers.source->vocabulary_size(),
                                .target = result.tokenizers.target->vocabulary_size(),
                                .joint = result.tokenizers.joint},
        plan_for_use(settings, options.overrides));
    load_weights(result, options, result.translator->parameters());
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
