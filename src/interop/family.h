// What this program knows about a family of Hugging Face's models: one value for each, in
// families/NAME.cpp. Import and export read nothing else, so that a new family is one such file and
// its line in family.cpp.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "interop/config_table.h"
#include "interop/weight_map.h"

namespace roformer {

enum class FamilyKind {
  encoder,     // with a head for masked words, one for classes, or none
  causal,      // a causal language model
  translator,  // encoder and decoder, with two tokenizers
};

// Stored tables of sines and cosines, which are no parameters here.
struct StoredSinusoids {
  std::vector<std::string_view> names = {};
  Size features = Size::none;
};

// transformers' BERT always adds a row of a token type.
inline constexpr std::int64_t kBertTokenTypes = 2;

// What is wanted of a model that a family is to express: problems in words, each with its key.
class Wishes {
 public:
  void expect(bool holds, std::string problem);
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// What config.json and generation_config.json say.
struct FolderConfig {
  const struct Family* family = nullptr;
  std::string file;  // config.json, for messages
  // task, model.* with the vocabulary, position.*, attention.*; glue.head, glue.head_dropout and
  // glue.pooling as the family has them; data.length: the longest text that it was built for. A
  // translator's: translation.* and decoding.*, too.
  Settings settings;
  bool decoder_bias = true;                // of the language head's last layer
  std::vector<std::string> notes;          // what differs here, one sentence each
  std::vector<std::string> architectures;  // "BertForMaskedLM"; may be empty
  std::vector<std::string> labels;         // of id2label, by number; empty where it has none
  std::string task;                        // finetuning_task; empty where it has none
  // Of a translator.
  bool has_generation = false;  // has generation_config.json
  TableRows rows;
  TranslatorTokens tokens;
};

struct Family {
  std::string_view type;     // model_type of config.json: "bert"
  std::string_view title;    // "BERT"
  std::string_view classes;  // "Bert", of BertForMaskedLM
  FamilyKind kind = FamilyKind::encoder;

  // config.json. `parse` sets what no field says, reads the table and checks what belongs together.
  // `generation`: generation_config.json, or config.json again where there is none.
  std::vector<ConfigField> fields;
  std::function<void(const Family& family, const JsonFields& fields, const JsonFields& generation,
                     FolderConfig& config)>
      parse;

  // The weights. A family without heads has all of its weights in `body`.
  std::string_view prefix;  // of the body's tensors in a model with a head: "bert."
  std::vector<std::string_view> unprefixed = {};  // tensors of the body without it
  WeightGroup body, language_head = {}, pooler = {}, classification_head = {};
  StoredSinusoids sinusoids = {};
  std::vector<std::string_view> ignored_endings = {};  // buffers of older releases
  std::vector<std::string_view> inside = {};  // a tensor of these beginnings must be understood
  bool rotates_halves = false;  // queries and keys are rotated by halves, not by neighbours
  // Both heads begin with the same layers, so that a folder has one of them.
  bool one_head = false;
  bool always_tied = false;  // the language head's last layer is the table of tokens

  // Export. Names what the family cannot express.
  void (*expect)(const Settings& settings, Wishes& wishes) = nullptr;
  std::int64_t least_positions = 0;  // that an export claims, where no table limits them
  void (*note)(const Settings& settings, std::vector<std::string>& notes) = nullptr;
  // generation_config.json, which has its own fields; null: none.
  nlohmann::ordered_json (*generation)(const ExportedConfig& config) = nullptr;

  std::string architecture(bool classifies) const;  // "BertForMaskedLM"
  // A tensor of one of the groups as a model with a head stores it.
  std::string stored_name(const WeightGroup& group, std::string_view canonical) const;
};

// In the order in which messages name them.
std::span<const Family> all_families();
const Family& family_named(std::string_view type);  // which there must be
const Family* find_family(std::string_view type);

struct ConfigText {
  std::string_view text;
  std::string file;  // named in errors
};
// `generation`: empty where there is no such file. Throws Error (failure) for what is no such file,
// for a value out of range, and for an architecture that this program does not have.
FolderConfig parse_folder_config(const ConfigText& config, const ConfigText& generation = {});

}  // namespace roformer
