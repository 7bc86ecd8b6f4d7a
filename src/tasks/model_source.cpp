#include "tasks/model_source.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "config/load.h"
#include "config/schema.h"
#include "interop/hugging_face.h"
#include "tensor/safetensors.h"
#include "training/checkpoint.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTokens = "embedding.tokens.weight";

// Keys of model.* that say how a run trains and not what the model is.
constexpr std::array kOwn = {"model.from", "model.from_weights", "model.freeze_embeddings",
                             "model.freeze_layers"};

bool is_own(const std::string& key) {
  return std::find(kOwn.begin(), kOwn.end(), key) != kOwn.end();
}

bool describes_model(const Key& key, const Settings& settings) {
  if (key.name.starts_with("glue.head")) return settings.task == TaskKind::glue;
  if (key.name == "position.scheme") return true;
  if (!key.scheme().empty()) return key.scheme() == settings.position.scheme;
  return (key.name.starts_with("model.") && !is_own(key.name)) ||
         key.name.starts_with("attention.");
}

// Lengths that default to the length of the training stay those of the source's.
void keep_training_length(Settings& settings) {
  PositionSettings& position = settings.position;
  if (position.rope.scaling != RopeScaling::none && position.rope.original_length == 0) {
    position.rope.original_length = settings.data.length;
  }
  if (position.xpos.original_length == 0) position.xpos.original_length = settings.data.length;
}

ModelSource open_checkpoint_source(const fs::path& from) {
  ModelSource source{.folder = find_checkpoint(from)};
  source.settings = load_settings(source.folder / "config.yaml");
  const Safetensors file(source.folder / "model.safetensors");
  for (const std::string& name : file.names()) source.weights[name] = file.tensor(name);
  source.tokenizer = load_tokenizer(source.folder);
  return source;
}

ModelSource open_hugging_face_source(const fs::path& from) {
  PretrainedModel model = read_hugging_face_folder(from);
  for (const std::string& note : model.notes) log::warn("{}: {}", from.string(), note);
  model.settings.task = TaskKind::glue;  // so that the family's head comes along
  return {.folder = from,
          .settings = std::move(model.settings),
          .weights = std::move(model.tensors),
          .tokenizer = std::move(model.tokenizer)};
}

bool is_head(const std::string& name) {
  return name.starts_with("classifier.") || name.starts_with("pooler.");
}

// "3 of head.*, embedding.positions": parameters of one head are told as one.
std::string name_list(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  std::map<std::string, int> groups;
  for (const std::string& name : names) {
    if (name.starts_with("head.")) {
      ++groups["head.*"];
    } else if (name.starts_with("layers.")) {
      // "layers.*.attention.u" for what every layer has
      const std::size_t dot = name.find('.', 7);
      ++groups["layers.*" + name.substr(dot)];
    } else {
      words.push_back(name);
    }
  }
  for (const auto& [group, count] : groups) words.push_back(group);
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

ModelSource open_model_source(const fs::path& from) {
  std::error_code error;
  const bool checkpoint = fs::exists(from / "state.json", error);
  ModelSource source;
  if (checkpoint || is_run(from)) {
    source = open_checkpoint_source(from);
  } else if (is_hugging_face_folder(from)) {
    source = open_hugging_face_source(from);
  } else {
    throw_usage("model.from",
                fmt::format("{} is {}", from.string(),
                            fs::exists(from, error)
                                ? "no run, no checkpoint and no folder of Hugging Face's"
                                : "not there"),
                "a folder that `roformer train` made, one of its checkpoints, or a folder with "
                "config.json and model.safetensors");
  }
  const auto tokens = source.weights.find(kTokens);
  if (tokens == source.weights.end()) {
    throw_failure(source.folder.string(), fmt::format("has no \"{}\"", kTokens));
  }
  source.settings.model.vocabulary = tokens->second.size(0);
  keep_training_length(source.settings);
  return source;
}

std::vector<Override> model_source_keys(const fs::path& from) {
  const ModelSource source = open_model_source(from);
  std::vector<Override> keys;
  for (const Key& key : schema()) {
    if (describes_model(key, source.settings)) keys.push_back({key.name, key.get(source.settings)});
  }
  return keys;
}

std::string start_from(const ModelSource& source, const Settings& settings,
                       ParameterStore& parameters) {
  const at::NoGradGuard no_gradient;
  std::vector<std::string> fresh, unused;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const Parameter& parameter : parameters.all()) {
    const std::string& name = parameter.spec.name;
    const auto found = source.weights.find(name);
    const bool same =
        found != source.weights.end() && found->second.sizes().vec() == parameter.spec.shape;
    if (same) {
      copies.emplace_back(parameter.value, found->second);
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
  for (const auto& [name, value] : source.weights) {
    const Parameter* const parameter = parameters.find(name);
    if (parameter == nullptr || parameter->spec.shape != value.sizes().vec())
      unused.push_back(name);
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
  if (source.tokenizer == nullptr || tokenizer.fingerprint() == source.tokenizer->fingerprint()) {
    return;
  }
  log::warn(
      "{} was trained with another tokenizer ({}, {} pieces) than this run has ({}, {}): its "
      "token vectors stand for other pieces",
      source.folder.string(), source.tokenizer->description(), source.tokenizer->vocabulary_size(),
      tokenizer.description(), tokenizer.vocabulary_size());
}

}  // namespace roformer
