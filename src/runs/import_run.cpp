#include "runs/import_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/glue.h"
#include "data/tag_scheme.h"
#include "interop/embedder_folder.h"
#include "interop/import.h"
#include "runs/new_run.h"
#include "tasks/classification/targets.h"
#include "tasks/embedding/embedder.h"
#include "tasks/language/language_model.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kKeepsPooler =
    "fine-tune with --model.from and the folder itself to begin with it";

bool is_set(const std::vector<Override>& overrides, const char* key) {
  return std::ranges::any_of(overrides,
                             [&](const Override& override) { return override.key == key; });
}

// Appends the settings that differ from their defaults as keys.
void append_keys(const Settings& settings, bool with_glue, std::vector<Override>& keys) {
  for (const std::string& name : diff(Settings{}, settings)) {
    if (name == "task" || (name.starts_with("glue.") && !with_glue)) continue;
    keys.push_back({name, find_key(name)->get(settings)});
  }
}

// The settings for a tagger: its tags are the folder's labels in their order.
Settings tagger_settings(PretrainedModel& model, const std::vector<Override>& overrides) {
  std::vector<Override> keys = {{"task", "tagging"}};
  append_keys(model.settings, /*with_glue=*/false, keys);
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  Settings settings = default_settings(keys);
  if (!is_set(overrides, "tagging.head_dropout")) {
    settings.tagging.head_dropout = tagging_head_dropout(*model.family, model.settings);
  }
  std::vector<std::string> tags = model.labels;
  if (std::ssize(tags) != model.classes()) {
    tags.clear();
    for (std::int64_t i = 0; i < model.classes(); ++i) tags.push_back(fmt::format("LABEL_{}", i));
    model.notes.push_back("it does not name its tags: they are LABEL_0, LABEL_1, ...");
  }
  settings.tagging.classes = std::move(tags);
  try {
    scheme_of(settings.tagging.classes, settings.tagging.scheme, "id2label");
  } catch (const Error&) {
    settings.tagging.scheme = TagScheme::plain;
    model.notes.push_back("its tags fit neither BIO nor BIOES and are taken as plain tags");
  }
  return settings;
}

// The settings for an encoder with the pooling of sentence-transformers.
Settings embedder_settings(const PretrainedModel& model, const std::vector<Override>& overrides) {
  std::vector<Override> keys = {{"task", to_word(TaskKind::embedding)}};
  for (const std::string& name : diff(Settings{}, model.settings)) {
    const Key& key = *find_key(name);
    if (key.applies_to(TaskKind::embedding) && name != "task") {
      keys.push_back({name, key.get(model.settings)});
    }
  }
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  return default_settings(keys);
}

// The settings for an encoder. A classifier of a GLUE task, by the folder's word or the user's,
// becomes a run of that task, another classifier a run of task classification.
Settings encoder_settings(PretrainedModel& model, const std::vector<Override>& overrides,
                          const fs::path& folder) {
  if (model.tags_words) return tagger_settings(model, overrides);
  const bool classifier = model.has_classification_head();
  if (!classifier && is_set(overrides, "glue.task")) {
    throw_usage("--glue.task",
                "is for a classifier, but " + folder.string() + " has no classifier head",
                "leave it out, and fine-tune the run: roformer train configs/glue/mrpc.yaml "
                "--model.from RUN");
  }
  const std::string named = glue_task_word(model.task);
  const bool glue = classifier && (is_set(overrides, "glue.task") || !named.empty());
  Settings shape = model.settings;
  if (classifier && !glue) {
    static_cast<ClassifierSettings&>(shape.classification) = shape.glue;
    shape.glue = {};
    shape.classification.kind = model.target_kind;
    if (model.target_kind != TargetKind::regression) {
      for (std::int64_t i = 0; i < model.classes(); ++i) {
        const auto index = static_cast<std::size_t>(i);
        shape.classification.classes.push_back(
            index < model.labels.size() ? model.labels[index] : fmt::format("LABEL_{}", i));
      }
    }
  }
  std::vector<Override> keys = {{"task", glue ? "glue" : classifier ? "classification" : "mlm"}};
  append_keys(shape, glue, keys);
  if (glue && !is_set(overrides, "glue.task")) keys.push_back({"glue.task", named});
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  return default_settings(keys);
}

// Puts the rows of the head into the order of the task's labels and keeps the folder's class names.
void fit_classes(const fs::path& folder, Settings& settings, PretrainedModel& model) {
  const Targets targets = targets_of(settings);
  if (model.classes() != targets.outputs()) {
    throw_usage(
        settings.task == TaskKind::glue ? "glue.task" : "classification.classes",
        fmt::format("{} has {} outputs, the classifier in {} has {}",
                    settings.task == TaskKind::glue ? to_word(settings.glue.task) : "the task",
                    targets.outputs(), folder.string(), model.classes()),
        "name the task that it was trained on");
  }
  if (settings.task != TaskKind::glue || targets.is_regression()) return;
  const std::vector<std::int64_t> order = class_order(model.labels, settings);
  const bool named = !are_unnamed(model.labels) && std::ssize(model.labels) == targets.outputs();
  if (named && settings.glue.class_names.empty()) {
    std::vector<std::string> names = model.labels;
    for (std::size_t i = 0; i < order.size(); ++i) {
      names[i] = model.labels[static_cast<std::size_t>(order[i])];
    }
    if (names != targets.classes) settings.glue.class_names = joined_class_names(names);
  }
  if (order.empty()) {
    model.notes.push_back(fmt::format(
        "its classes{} are taken as {}, in this order",
        named ? fmt::format(", {},", printable(fmt::format("{}", fmt::join(model.labels, ", "))))
              : "",
        fmt::join(targets.classes, ", ")));
    return;
  }
  for (auto& [name, value] : model.tensors) {
    if (has_row_of_each_class(settings, name)) value = in_class_order(value, order);
  }
}

// Turns the folder's weights into those of a run of task mlm: the encoder and a language head. The
// head is new where the folder has none.
void fit_language_model(const Settings& settings, PretrainedModel& model) {
  if (model.tensors.contains("pooler.weight")) {
    model.tensors.erase("pooler.weight");
    model.tensors.erase("pooler.bias");
    model.notes.push_back(fmt::format("its pooler is left out of the run: {}", kKeepsPooler));
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

// Leaves the encoder alone.
void fit_embedder(const Settings& settings, PretrainedModel& model) {
  std::set<std::string> known;
  const ParametersOnly listed([&](const ParameterSpec& spec) { known.insert(spec.name); });
  const Embedder embedder(settings, model.tokenizer->vocabulary_size(), ComputePlan());
  if (std::erase_if(model.tensors,
                    [&](const auto& entry) { return !known.contains(entry.first); }) > 0) {
    model.notes.push_back(fmt::format(
        "its pooler or head is left out, as no vector passes through it: {}", kKeepsPooler));
  }
}

// The folder's settings as keys, followed by the user's, so that one check sees both.
Settings with_overrides(const PretrainedModel& model, const std::vector<Override>& overrides) {
  std::vector<Override> keys = {{"task", to_word(model.settings.task)}};
  append_keys(model.settings, /*with_glue=*/false, keys);
  keys.insert(keys.end(), overrides.begin(), overrides.end());
  return default_settings(keys);
}

// Turns an encoder into a classifier or into a masked language model, with the folder's head or
// with a new one. Returns a description of the head.
std::string fit_head(const fs::path& folder, Settings& settings, PretrainedModel& model) {
  if (settings.task == TaskKind::tagging) {
    return fmt::format("a head for {} tags", settings.tagging.classes.size());
  }
  if (model.has_classification_head()) {
    fit_classes(folder, settings, model);
    return settings.task == TaskKind::glue
               ? fmt::format("a head for {}", to_word(settings.glue.task))
               : fmt::format("a head with {}",
                             format_counted(targets_of(settings).outputs(), "output"));
  }
  const bool had_head = model.has_language_head();
  fit_language_model(settings, model);
  return had_head ? "a masked language head" : "a new masked language head";
}

void save_assets(const PretrainedModel& model, const InnerPath& target) {
  if (model.source_tokenizer == nullptr) return save_tokenizer(*model.tokenizer, target);
  save_translation_tokenizers({.source = *model.source_tokenizer, .target = *model.tokenizer},
                              target);
}

}  // namespace

ImportedRun import_run(const fs::path& folder, const std::vector<Override>& overrides,
                       ExistingRun existing) {
  PretrainedModel model = read_hugging_face_folder(folder);
  const bool encodes = model.family->kind == FamilyKind::encoder;
  const bool embeds = encodes && is_embedder_folder(folder);
  Settings settings = embeds    ? embedder_settings(model, overrides)
                      : encodes ? encoder_settings(model, overrides, folder)
                                : with_overrides(model, overrides);
  ImportedRun result;
  switch (model.family->kind) {
    case FamilyKind::encoder:
      if (embeds) {
        fit_embedder(settings, model);
        result.model = fmt::format("{} as an embedder of texts", model.family->title);
        break;
      }
      result.model =
          fmt::format("{} with {}", model.family->title, fit_head(folder, settings, model));
      break;
    case FamilyKind::causal:
      result.model = fmt::format("{}, a causal language model", model.family->title);
      break;
    case FamilyKind::translator:
      result.model = fmt::format("{} translator", model.family->classes);
      break;
  }
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : model.tensors) {
    tensors.push_back({.name = name, .value = value});
    result.parameters += value.numel();
  }
  result.path =
      write_new_run({.settings = settings,
                     .tensors = tensors,
                     .state = {.seed = settings.seed},
                     .data = {{"imported_from", fs::absolute(folder).lexically_normal().string()}},
                     .save_assets = [&](const InnerPath& target) { save_assets(model, target); }},
                    existing, "choose another name with --run");
  result.notes = std::move(model.notes);
  return result;
}

}  // namespace roformer
