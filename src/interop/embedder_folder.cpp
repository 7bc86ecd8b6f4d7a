#include "interop/embedder_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kModulesFile = "modules.json";
constexpr const char* kLengthFile = "sentence_bert_config.json";
constexpr const char* kPromptFile = "config_sentence_transformers.json";
constexpr const char* kPooling = "1_Pooling";
constexpr const char* kNormalize = "2_Normalize";
constexpr Range kLengths = between(3, 1 << 20);

struct Module {
  std::string kind;  // "Pooling": the last part of the type
  fs::path folder;
};

bool is_inside(const fs::path& path) {
  return path.is_relative() && std::ranges::find(path, fs::path("..")) == path.end();
}

// The modules in the order of their numbers.
std::vector<Module> read_modules(const fs::path& folder) {
  const fs::path file = folder / kModulesFile;
  const nlohmann::json list = {{"modules", read_json(file)}};
  std::vector<Module> modules;
  for (const JsonFields& fields : JsonFields(list, file.string()).objects("modules")) {
    const std::string type = fields.text("type"), path = fields.text("path", "");
    if (!is_inside(path)) fields.refuse("path", "a folder inside this one");
    modules.push_back({.kind = type.substr(type.rfind('.') + 1), .folder = folder / path});
  }
  return modules;
}

[[noreturn]] void refuse_pooling(const fs::path& file, const std::string& mode) {
  throw_failure(file.string(), fmt::format("pools by {}", printable(mode)),
                "this program has the mean of all tokens (mean) and the first token (cls)");
}

TextPooling read_pooling(const fs::path& folder) {
  const fs::path file = folder / kConfigFile;
  const nlohmann::json config = read_object_if_there(file);
  const JsonFields fields(config, file.string());
  std::string mode;
  if (const nlohmann::json* const given = fields.find("pooling_mode")) {
    if (!given->is_string()) refuse_pooling(file, given->dump());
    mode = given->get<std::string>();
  } else {
    // Older releases have one field for each way of pooling and concatenate those that are true.
    constexpr std::string_view kBefore = "pooling_mode_", kAfter = "_tokens";
    bool says = false;
    for (const auto& [name, value] : config.items()) {
      if (!name.starts_with(kBefore)) continue;
      says = true;
      if (!fields.flag(name, false)) continue;
      std::string way = name.substr(kBefore.size());
      if (way == "cls_token") way = "cls";
      if (way.ends_with(kAfter)) way.resize(way.size() - kAfter.size());
      mode += (mode.empty() ? "" : "+") + way;
    }
    if (mode.empty()) mode = says ? "nothing" : "mean";
  }
  if (mode == "mean") return TextPooling::mean;
  if (mode == "cls") return TextPooling::first;
  refuse_pooling(file, mode);
}

// The longest text in tokens; 0: the folder does not limit it.
std::int64_t read_length(const fs::path& folder) {
  const nlohmann::json own = read_object_if_there(folder / kLengthFile);
  const JsonFields fields(own, (folder / kLengthFile).string());
  const nlohmann::json tokens = read_object_if_there(folder / kTokenizerConfigFile);
  const JsonFields tokenizer(tokens, (folder / kTokenizerConfigFile).string());
  if (fields.flag("do_lower_case", false) && !tokenizer.flag("do_lower_case", false)) {
    fields.refuse("do_lower_case", "false: only a tokenizer makes letters small here");
  }
  if (fields.find("max_seq_length") != nullptr) return fields.count("max_seq_length", kLengths);
  // Newer releases keep it in the tokenizer's file, which may also hold a number without meaning.
  const nlohmann::json* const length = tokenizer.find("model_max_length");
  const bool limits =
      length != nullptr && length->is_number_integer() && kLengths.contains(length->get<double>());
  return limits ? length->get<std::int64_t>() : 0;
}

void note_prompt(const fs::path& folder, std::vector<std::string>& notes) {
  const nlohmann::json config = read_object_if_there(folder / kPromptFile);
  const auto prompt = config.find("default_prompt_name");
  if (prompt == config.end() || !prompt->is_string()) return;
  notes.push_back(
      fmt::format("sentence-transformers puts its prompt {} before every text; "
                  "here texts are read as they are",
                  printable(prompt->get<std::string>())));
}

}  // namespace

bool is_embedder_folder(const fs::path& folder) {
  return is_present(folder / kModulesFile);
}

void read_embedder_modules(const fs::path& folder, Settings& settings,
                           std::vector<std::string>& notes) {
  settings.embedding.normalize = false;
  bool pools = false;
  for (const Module& module : read_modules(folder)) {
    if (module.kind == "Pooling") {
      settings.embedding.pooling = read_pooling(module.folder);
      pools = true;
    } else if (module.kind == "Normalize") {
      settings.embedding.normalize = true;
    } else if (module.kind != "Transformer" && module.kind != "Dropout") {
      throw_failure(
          (folder / kModulesFile).string(),
          fmt::format("has a module {}, which this program does not have", printable(module.kind)),
          "it reads Transformer, Pooling and Normalize");
    }
  }
  if (!pools) throw_failure((folder / kModulesFile).string(), "has no module Pooling");
  const std::int64_t length = read_length(folder);
  if (length > 0) settings.data.length = std::min(length, settings.data.length);
  note_prompt(folder, notes);
}

void write_embedder_modules(const Settings& settings, const fs::path& folder) {
  const auto module = [](int index, const char* path, const char* kind) {
    return nlohmann::ordered_json{{"idx", index},
                                  {"name", std::to_string(index)},
                                  {"path", path},
                                  {"type", fmt::format("sentence_transformers.models.{}", kind)}};
  };
  nlohmann::ordered_json modules = {module(0, "", "Transformer"), module(1, kPooling, "Pooling")};
  if (settings.embedding.normalize) modules.push_back(module(2, kNormalize, "Normalize"));
  write_json(folder / kModulesFile, modules);
  const bool mean = settings.embedding.pooling == TextPooling::mean;
  make_directories(folder / kPooling);
  write_json(folder / kPooling / kConfigFile, {{"word_embedding_dimension", settings.model.width},
                                               {"pooling_mode_cls_token", !mean},
                                               {"pooling_mode_mean_tokens", mean},
                                               {"pooling_mode_max_tokens", false},
                                               {"pooling_mode_mean_sqrt_len_tokens", false}});
  if (settings.embedding.normalize) {
    make_directories(folder / kNormalize);
    write_json(folder / kNormalize / kConfigFile, nlohmann::ordered_json::object());
  }
  write_json(folder / kLengthFile,
             {{"max_seq_length", settings.data.length}, {"do_lower_case", false}});
  write_json(folder / kPromptFile, {{"model_type", "SentenceTransformer"},
                                    {"prompts", nlohmann::ordered_json::object()},
                                    {"default_prompt_name", nullptr},
                                    {"similarity_fn_name", "cosine"}});
}

}  // namespace roformer
