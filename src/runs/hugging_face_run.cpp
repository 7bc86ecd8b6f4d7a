#include "runs/hugging_face_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/glue.h"
#include "interop/causal_folder.h"
#include "interop/hugging_face.h"
#include "interop/hugging_face_export.h"
#include "interop/marian_export.h"
#include "interop/marian_folder.h"
#include "runs/classifier_classes.h"
#include "runs/new_run.h"
#include "runs/stored_settings.h"
#include "tasks/language_model.h"
#include "tasks/translation_search.h"
#include "tasks/translator.h"
#include "tensor/safetensors.h"
#include "text/translation_tokenizers.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool is_set(const std::vector<Override>& overrides, const char* key) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const Override& override) { return override.key == key; });
}

// Appends what differs from the defaults as keys.
void append_keys(const Settings& settings, bool with_glue, std::vector<Override>& keys) {
  for (const std::string& name : diff(Settings{}, settings)) {
    if (name == "task" || (name.starts_with("glue.") && !with_glue)) continue;
    keys.push_back({name, find_key(name)->get(settings)});
  }
}

// The folder's settings as keys, with the user's behind them, so that one check sees both.
Settings import_settings(const PretrainedModel& model, const std::vector<Override>& overrides,
                         const fs::path& folder) {
  const bool classifier = model.has_classification_head();
  std::vector<Override> keys = {{"task", classifier ? "glue" : "mlm"}};
  append_keys(model.settings, classifier, keys);
  if (!classifier && is_set(overrides, "glue.task")) {
    throw_usage("--glue.task", "is of a classifier, and " + folder.string() + " has no head of one",
                "leave it out, and fine-tune the run: roformer train configs/glue/mrpc.yaml "
                "--model.from RUN");
  }
  if (classifier && !is_set(overrides, "glue.task")) {
    const std::string task = glue_task_word(model.task);
    if (task.empty()) {
      throw_usage(folder.string(),
                  fmt::format("is a classifier of {} classes and does not say of which task",
                              model.classes()),
                  fmt::format("--glue.task {}", fmt::join(Words<GlueTask>::texts, "|")));
    }
    keys.push_back({"glue.task", task});
  }
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  return default_settings(keys);
}

void fit_classes(const Settings& settings, const fs::path& folder, PretrainedModel& model) {
  const GlueTaskFacts& facts = glue_task_facts(settings.glue.task);
  const auto wanted =
      facts.is_regression() ? std::int64_t{1} : static_cast<std::int64_t>(facts.labels.size());
  if (model.classes() != wanted) {
    throw_usage("glue.task",
                fmt::format("{} has {} outputs, the classifier in {} has {}",
                            to_word(settings.glue.task), wanted, folder.string(), model.classes()),
                "name the task that it was trained on");
  }
  if (facts.is_regression()) return;
  const std::vector<std::int64_t> order = class_order(model.labels, facts.labels);
  if (order.empty()) {
    model.notes.push_back(
        fmt::format("its classes are taken as {}, in this order", fmt::join(facts.labels, ", ")));
    return;
  }
  for (auto& [name, value] : model.tensors) {
    if (has_row_of_each_class(settings, name)) value = in_class_order(value, order);
  }
}

// Makes of the folder's weights what a run of task mlm holds: the encoder and a language head, new
// where the folder has none.
void fit_language_model(const Settings& settings, PretrainedModel& model) {
  if (model.tensors.contains("pooler.weight")) {
    model.tensors.erase("pooler.weight");
    model.tensors.erase("pooler.bias");
    model.notes.push_back(
        "its pooler is left out of the run: fine-tune with --model.from and the folder itself to "
        "begin with it");
  }
  if (model.has_language_head()) return;
  model.notes.push_back(
      "it has no masked language head: the run gets a new one, whose predictions mean nothing "
      "before it is trained");
  const LanguageModel fresh(settings, model.tokenizer->vocabulary_size(),
                            plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width));
  for (const Parameter& parameter : fresh.parameters().all()) {
    model.tensors.try_emplace(parameter.spec.name, parameter.value.detach());
  }
}

// The run with these weights at step 0. Fills path and parameters of `result`.
struct ImportedWeights {
  const Settings& settings;
  const std::map<std::string, at::Tensor>& tensors;
  const fs::path& from;
  std::function<void(const fs::path& checkpoint)> save_assets;
};
void write_run(const ImportedWeights& in, ExistingRun existing, ImportedRun& result) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : in.tensors) {
    tensors.push_back({.name = name, .value = value});
    result.parameters += value.numel();
  }
  result.path =
      write_new_run({.settings = in.settings,
                     .tensors = tensors,
                     .state = {.seed = in.settings.seed},
                     .data = {{"imported_from", fs::absolute(in.from).lexically_normal().string()}},
                     .save_assets = in.save_assets},
                    existing, "choose another name with --run");
}

ImportedRun import_translator(const fs::path& folder, const std::vector<Override>& overrides,
                              ExistingRun existing) {
  const PretrainedTranslator translator = read_marian_folder(folder);
  std::vector<Override> keys = {{"task", "translation"}};
  append_keys(translator.settings, /*with_glue=*/false, keys);
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  ImportedRun result{.model = "Marian translator", .notes = translator.notes};
  write_run({.settings = default_settings(keys),
             .tensors = translator.tensors,
             .from = folder,
             .save_assets =
                 [&](const fs::path& target) {
                   save_translation_tokenizers({.source = *translator.tokenizers.source,
                                                .target = *translator.tokenizers.target},
                                               target);
                 }},
            existing, result);
  return result;
}

ImportedRun import_causal_model(const fs::path& folder, const std::vector<Override>& overrides,
                                ExistingRun existing) {
  PretrainedModel model = read_causal_folder(folder);
  std::vector<Override> keys = {{"task", "causal_lm"}};
  append_keys(model.settings, /*with_glue=*/false, keys);
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  ImportedRun result{.model = causal_model_name(folder) + ", a causal language model",
                     .notes = std::move(model.notes)};
  write_run(
      {.settings = default_settings(keys),
       .tensors = model.tensors,
       .from = folder,
       .save_assets = [&](const fs::path& target) { save_tokenizer(*model.tokenizer, target); }},
      existing, result);
  return result;
}

void export_translator(const Settings& settings, const std::map<std::string, at::Tensor>& tensors,
                       const fs::path& folder, ExportedRun& result) {
  const TranslationTokenizers tokenizers = load_translation_tokenizers(result.checkpoint);
  TranslationTokens tokens = translation_tokens(*tokenizers.target);
  if (!settings.decoding.unknown && tokens.unknown >= 0) tokens.excluded.push_back(tokens.unknown);
  result.notes = write_marian_folder({.settings = settings,
                                      .tensors = tensors,
                                      .source = *tokenizers.source,
                                      .target = *tokenizers.target,
                                      .never = tokens.excluded,
                                      .begin = tokens.target.begin,
                                      .end = tokens.target.end},
                                     folder);
  result.architecture = "MarianMTModel";
}

}  // namespace

ImportedRun import_run(const fs::path& folder, const std::vector<Override>& overrides,
                       ExistingRun existing) {
  if (is_marian_folder(folder)) return import_translator(folder, overrides, existing);
  if (is_causal_folder(folder)) return import_causal_model(folder, overrides, existing);
  PretrainedModel model = read_hugging_face_folder(folder);
  const Settings settings = import_settings(model, overrides, folder);
  const bool classifier = model.has_classification_head();
  ImportedRun result;
  result.model = fmt::format("{} with {}", model.family,
                             classifier ? fmt::format("a head for {}", to_word(settings.glue.task))
                             : model.has_language_head() ? "a masked language head"
                                                         : "a new masked language head");
  if (classifier) {
    fit_classes(settings, folder, model);
  } else {
    fit_language_model(settings, model);
  }
  write_run(
      {.settings = settings,
       .tensors = model.tensors,
       .from = folder,
       .save_assets = [&](const fs::path& target) { save_tokenizer(*model.tokenizer, target); }},
      existing, result);
  result.notes = std::move(model.notes);
  return result;
}

ExportedRun export_run(const fs::path& run_or_checkpoint, const std::string& which,
                       const fs::path& folder, std::optional<WeightsKind> weights) {
  return use_checkpoint(run_or_checkpoint, which, [&](const fs::path& checkpoint) {
    ExportedRun result{.checkpoint = checkpoint};
    const Settings settings = read_run_settings(result.checkpoint);
    const Safetensors file(
        weights_file(result.checkpoint, weights.value_or(settings.training.weights)));
    std::map<std::string, at::Tensor> tensors;
    for (const std::string& name : file.names()) tensors[name] = file.tensor(name);
    if (task_facts(settings.task).translates) {
      export_translator(settings, tensors, folder, result);
      return result;
    }
    const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(result.checkpoint);
    ExportedModel model{.settings = settings, .tensors = tensors, .tokenizer = *tokenizer};
    if (task_facts(settings.task).predicts_labels)
      model.labels = glue_task_facts(settings.glue.task).labels;
    ExportSummary summary = task_facts(settings.task).causal
                                ? write_causal_folder(model, folder)
                                : write_hugging_face_folder(model, folder);
    result.architecture = std::move(summary.architecture);
    result.notes = std::move(summary.notes);
    return result;
  });
}

}  // namespace roformer
