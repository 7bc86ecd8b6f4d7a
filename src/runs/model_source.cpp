#include "runs/model_source.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/glue.h"
#include "interop/folder.h"
#include "interop/import.h"
#include "runs/stored_weights.h"
#include "tasks/classification/targets.h"
#include "tensor/safetensors.h"
#include "text/translation_tokenizers.h"
#include "training/checkpoint.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTokens = "embedding.tokens.weight";

// Keys of model.* that say how a run trains rather than what the model is.
constexpr std::array kOwn = {"model.from", "model.from_weights", "model.freeze_embeddings",
                             "model.freeze_layers"};

bool is_own(const std::string& key) {
  return std::ranges::find(kOwn, key) != kOwn.end();
}

// Keys outside model.* that describe the model of a translator.
constexpr std::array kOfTranslator = {"translation.decoder_layers", "translation.tie_embeddings",
                                      "translation.tie_output",     "translation.output_bias",
                                      "position.decoder",           "position.cross"};

bool describes_model(const Key& key, const Settings& settings) {
  if (std::ranges::find(kOfTranslator, key.name) != kOfTranslator.end()) {
    return task_facts(settings.task).has_decoder;
  }
  // A source without such a head leaves the head's keys at their defaults.
  if (key.name == "tagging.head_dropout" || key.name == "embedding.normalize") return true;
  for (const std::string_view section : {"glue.", "classification.", "matching.", "embedding."}) {
    if (!key.name.starts_with(section)) continue;
    const std::string_view rest = std::string_view(key.name).substr(section.size());
    return rest.starts_with("head") || rest == "pooling";
  }
  if (key.name == "position.scheme") return true;
  if (!key.scheme().empty()) {
    const PositionSettings& position = settings.position;
    if (uses_scheme(position, key.scheme())) return true;
    return task_facts(settings.task).has_decoder &&
           (uses_scheme(position.of_decoder(), key.scheme()) || position.cross == key.scheme());
  }
  return is_of_model(key.name);
}

// Whether `from` is a Hugging Face folder rather than a run or a checkpoint. Throws Error for any
// other folder.
bool is_hugging_face_source(const fs::path& from) {
  std::error_code error;
  if (fs::exists(from / kStateFile, error) || is_run(from)) return false;
  if (is_hugging_face_folder(from)) {
    const Family* const family = family_of_folder(from);
    if (family == nullptr || family->kind != FamilyKind::translator) return true;
    throw_usage(
        "model.from",
        fmt::format("{} is a {} translator with tokenizers for two sides", from.string(),
                    family->classes),
        fmt::format("roformer import {} --run NAME, then --model.from runs/NAME", from.string()));
  }
  refuse_adapter_folder(from);
  throw_usage(
      "model.from",
      fmt::format("{} is {}", from.string(),
                  fs::exists(from, error) ? "neither a run, a checkpoint nor a Hugging Face folder"
                                          : "not there"),
      "a folder that `roformer train` made, one of its checkpoints, or a folder with "
      "config.json and model.safetensors");
}

// `weights` belong to the checkpoint; only the list of tensors is read.
Settings checkpoint_settings(const fs::path& checkpoint, const Safetensors& weights) {
  Settings settings = load_settings(checkpoint / "config.yaml");
  require_parameters(settings, stored_vocabularies(settings, checkpoint), weights);
  // A translator takes its vocabularies from its data.
  if (!task_facts(settings.task).has_decoder) {
    if (!weights.contains(kTokens)) {
      throw_failure(checkpoint.string(), fmt::format("has no \"{}\"", kTokens));
    }
    settings.model.vocabulary = weights.entry(kTokens).shape.at(0);
  }
  keep_training_length(settings.position, settings.data.length);
  return settings;
}

Settings hugging_face_settings(const Family& family, Settings settings) {
  settings.tagging.head_dropout = tagging_head_dropout(family, settings);
  keep_training_length(settings.position, settings.data.length);
  return settings;
}

// The file of the weights that training.weights of the run selects.
fs::path stored_weights(const fs::path& checkpoint) {
  return weights_file(checkpoint, load_settings(checkpoint / "config.yaml").training.weights);
}

ModelSource open_checkpoint_source(const fs::path& from) {
  return use_checkpoint(from, "best", [](const fs::path& checkpoint) {
    ModelSource source{.folder = checkpoint};
    const Safetensors file(stored_weights(checkpoint));
    source.settings = checkpoint_settings(checkpoint, file);
    for (const std::string& name : file.names()) source.weights[name] = file.tensor(name);
    if (task_facts(source.settings.task).exported == ExportForm::classifier) {
      source.labels = targets_of(source.settings).classes;
      if (source.settings.task == TaskKind::glue) {
        source.classified = to_word(source.settings.glue.task);
      }
    }
    if (source.settings.task == TaskKind::tagging) source.labels = source.settings.tagging.classes;
    if (task_facts(source.settings.task).has_decoder) {
      source.tokenizer = load_translation_tokenizers(checkpoint).target;
    } else {
      source.tokenizer = load_tokenizer(checkpoint);
    }
    return source;
  });
}

ModelSource open_hugging_face_source(const fs::path& from) {
  PretrainedModel model = read_hugging_face_folder(from);
  for (const std::string& note : model.notes) log::warn("{}: {}", from.string(), note);
  if (model.tags_words) model.settings.task = TaskKind::tagging;
  return {.folder = from,
          .settings = hugging_face_settings(*model.family, std::move(model.settings)),
          .weights = std::move(model.tensors),
          .tokenizer = std::move(model.tokenizer),
          .classified = glue_task_word(model.task),
          .labels = std::move(model.labels)};
}

// Reads no weights, but checks that the folder has some in a supported format. Otherwise a study
// could begin although none of its runs can start.
Settings source_settings(const fs::path& from) {
  if (!is_hugging_face_source(from)) {
    const fs::path checkpoint = find_checkpoint(from);
    return checkpoint_settings(checkpoint, Safetensors(stored_weights(checkpoint)));
  }
  return hugging_face_settings(*family_of_folder(from), read_hugging_face_settings(from));
}

bool is_head(const std::string& name) {
  return name.starts_with("classifier.") || name.starts_with("pooler.") ||
         name.starts_with("head.");
}

// How the run takes over the classes of its source's classifier.
struct TakenClasses {
  bool same_task = false;           // false: the source answers another question
  std::vector<std::int64_t> order;  // new order of the rows; empty: unchanged
};

// A tagger of the same tags keeps its head; data in another order reorder its rows.
TakenClasses taken_tags(const ModelSource& source, const std::vector<std::string>& classes) {
  TakenClasses taken{.same_task = source.settings.task == TaskKind::tagging &&
                                  std::ranges::is_permutation(source.labels, classes)};
  if (!taken.same_task) return taken;
  for (const std::string& tag : classes) {
    taken.order.push_back(std::ranges::find(source.labels, tag) - source.labels.begin());
  }
  return taken;
}

TakenClasses taken_classes(const ModelSource& source, const Settings& settings) {
  if (settings.task == TaskKind::tagging) return taken_tags(source, settings.tagging.classes);
  if (task_facts(settings.task).exported != ExportForm::classifier) {
    return {.same_task = source.settings.task == settings.task};
  }
  const auto order = class_order(source.labels, settings);
  // If the source names neither its task nor its classes, the user's word decides.
  bool same = !order.empty() || are_unnamed(source.labels);
  if (settings.task == TaskKind::glue && !source.classified.empty()) {
    same = source.classified == to_word(settings.glue.task);
  }
  return {.same_task = same, .order = order};
}

// "embedding.positions, head.*, layers.*.attention.u": several parameters of the language head
// become one entry, and so does a parameter that every layer has.
std::string name_list(const std::vector<std::string>& names) {
  constexpr std::string_view kHead = "head.", kLayers = "layers.";
  const auto of_head = std::ranges::count_if(
      names, [&](const std::string& name) { return name.starts_with(kHead); });
  std::vector<std::string> words;
  std::set<std::string> groups;
  for (const std::string& name : names) {
    if (name.starts_with(kHead)) {
      groups.insert(of_head == 1 ? name : "head.*");
    } else if (name.starts_with(kLayers)) {
      groups.insert("layers.*" + name.substr(name.find('.', kLayers.size())));
    } else {
      words.push_back(name);
    }
  }
  words.insert(words.end(), groups.begin(), groups.end());
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

// Keeps the digest until the file changes, because a study asks for it once for each run.
std::string file_digest(const fs::path& file) {
  using Version = std::tuple<std::string, std::uintmax_t, fs::file_time_type>;
  static std::mutex mutex;
  static std::map<Version, std::string> known;
  std::error_code error;  // ignored: the memory map below reports a missing file
  const Version version{fs::absolute(file).string(), fs::file_size(file, error),
                        fs::last_write_time(file, error)};
  const std::lock_guard lock(mutex);
  std::string& digest = known[version];
  if (digest.empty()) {
    const MappedFile mapped(file);
    digest = hexadecimal(XXH3_64bits(mapped.bytes().data(), mapped.bytes().size()));
  }
  return digest;
}

}  // namespace

bool is_of_model(const std::string& key) {
  return (key.starts_with("model.") && !is_own(key)) || key.starts_with("attention.");
}

ModelSource open_model_source(const fs::path& from) {
  return is_hugging_face_source(from) ? open_hugging_face_source(from)
                                      : open_checkpoint_source(from);
}

std::string model_source_fingerprint(const fs::path& from) {
  const fs::path folder = is_hugging_face_source(from) ? from : find_checkpoint(from);
  std::vector<fs::path> files;
  std::error_code error;
  if (const fs::path manifest = folder / "manifest.json"; fs::exists(manifest, error)) {
    files.push_back(manifest);
  } else {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const fs::path& file = entry.path();
      const std::string type = file.extension().string();
      const bool read = type == ".safetensors" || type == ".bin" || type == ".json" ||
                        type == ".model" || file.filename() == "merges.txt" ||
                        file.filename() == "vocab.txt";
      if (read) files.push_back(file);
    }
    std::ranges::sort(files);
  }
  std::string digest;
  for (const fs::path& file : files) digest += file_digest(file);
  return hexadecimal(XXH3_64bits(digest.data(), digest.size()));
}

std::vector<Override> model_source_keys(const fs::path& from) {
  Settings settings = source_settings(from);
  // A classifier's head serves both tasks of classifiers.
  if (is_hugging_face_source(from) ||
      task_facts(settings.task).exported == ExportForm::classifier) {
    const ClassifierSettings head = classifier_settings(settings);
    static_cast<ClassifierSettings&>(settings.glue) = head;
    static_cast<ClassifierSettings&>(settings.classification) = head;
  }
  std::vector<Override> keys;
  for (const Key& key : schema()) {
    if (describes_model(key, settings)) keys.push_back({key.name, key.get(settings)});
  }
  return keys;
}

std::string start_from(const ModelSource& source, const Settings& settings,
                       ParameterStore& parameters) {
  const bool translates = task_facts(settings.task).has_decoder;
  if (task_facts(source.settings.task).has_decoder != translates) {
    throw_usage(
        "model.from",
        fmt::format("{} is {}translator", source.folder.string(), translates ? "no " : "a "),
        translates ? "a translator's run to start a translator from"
                   : "a model of one text, or task translation");
  }
  const at::NoGradGuard no_gradient;
  const TakenClasses classes = taken_classes(source, settings);
  std::set<std::string> taken;
  std::vector<std::string> fresh, unused;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const Parameter& parameter : parameters.all()) {
    const std::string& name = parameter.spec.name;
    const auto found = source.weights.find(name);
    const bool same =
        found != source.weights.end() && found->second.sizes().vec() == parameter.spec.shape;
    if (name.starts_with("classifier.") && !classes.same_task) {
      fresh.push_back(name);
    } else if (same) {
      taken.insert(name);
      const bool by_class = !classes.order.empty() && has_row_of_each_class(settings, name);
      copies.emplace_back(parameter.value,
                          by_class ? in_class_order(found->second, classes.order) : found->second);
    } else if (found == source.weights.end() || is_head(name)) {
      fresh.push_back(name);
    } else {
      throw_usage("model.from",
                  fmt::format("\"{}\" has the shape [{}] in {}, this model's has [{}]", name,
                              fmt::join(found->second.sizes().vec(), ", "), source.folder.string(),
                              fmt::join(parameter.spec.shape, ", ")),
                  "leave out the options of model.* and position.* that differ from the source's");
    }
  }
  if (copies.empty()) {
    throw_usage("model.from", source.folder.string() + " has no parameter of this model");
  }
  const bool guessed = source.classified.empty() && classes.order.empty() &&
                       taken.contains("classifier.weight") &&
                       task_facts(settings.task).exported == ExportForm::classifier;
  if (guessed && !targets_of(settings).is_regression()) {
    log::warn("{}: its classes are taken as {}, in this order", source.folder.string(),
              fmt::join(targets_of(settings).classes, ", "));
  }
  for (const auto& [name, value] : source.weights) {
    if (!taken.contains(name)) unused.push_back(name);
  }
  for (auto& [value, weights] : copies) value.detach().copy_(weights);
  const std::string& before = source.settings.position.scheme;
  const std::string& now = settings.position.scheme;
  const std::string position =
      before == now ? "position " + now : fmt::format("position {} instead of {}", now, before);
  return fmt::format("{}: {} parameters taken, {}; new: {}; not used: {}", source.folder.string(),
                     copies.size(), position, name_list(fresh), name_list(unused));
}

void compare_tokenizers(const ModelSource& source, const Tokenizer& tokenizer) {
  if (tokenizer.fingerprint() == source.tokenizer->fingerprint()) return;
  log::warn(
      "{} was trained with another tokenizer ({}, {} pieces) than this run has ({}, {}): its "
      "token vectors stand for other pieces",
      source.folder.string(), source.tokenizer->description(), source.tokenizer->vocabulary_size(),
      tokenizer.description(), tokenizer.vocabulary_size());
}

}  // namespace roformer
