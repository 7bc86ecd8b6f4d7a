// Everything that this program knows about one family of Hugging Face models, as one value in
// families/NAME.cpp. A new family is such a file, its line in families/list.h and family.cpp and,
// where models are exported as it, its place in expressible.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "config/task_facts.h"
#include "interop/config_table.h"
#include "interop/weight_map.h"

namespace roformer {

enum class FamilyKind {
  encoder,     // with a head for masked words, a head for classes, or no head
  causal,      // a causal language model
  translator,  // encoder and decoder, with two tokenizers
};

// Tables of sines and cosines that a folder stores and that are no parameters here.
struct StoredSinusoids {
  std::vector<std::string_view> names = {};
  Size features = Size::none;
};

// The head of a tagger in BERT and most encoders: one linear layer.
inline WeightGroup linear_tagging_head() {
  return {{{"classifier", "classifier", {Size::any, Size::width}}}};
}

// Rows of token types: transformers' BERT always adds one of them.
inline constexpr std::int64_t kBertTokenTypes = 2;

// Collects the requirements that a model does not meet: problems in words, each with its key.
class Wishes {
 public:
  void expect(bool holds, std::string problem);
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

struct PretrainedModel;
struct TranslatorTokenizers;

// The contents of config.json and generation_config.json.
struct FolderConfig {
  const struct Family* family = nullptr;
  std::string file;  // the path of config.json, for messages
  // Holds task, model.* with the vocabulary, position.* and attention.*; the family's glue.head,
  // glue.head_dropout and glue.pooling; as data.length the longest text that the model was built
  // for; and for a translator also translation.* and decoding.*.
  Settings settings;
  bool decoder_bias = true;                // the language head's last layer has a bias
  std::vector<std::string> notes;          // differences from this program, one sentence each
  std::vector<std::string> architectures;  // "BertForMaskedLM"; may be empty
  // from id2label, in the order of their numbers; empty if there are none
  std::vector<std::string> labels;
  TargetKind target_kind = TargetKind::single;  // problem_type, or one label
  std::string task;                             // finetuning_task; empty if there is none
  // For a translator only.
  bool has_generation = false;  // the folder has generation_config.json
  // The weights alone say whether the output is the shared table.
  bool output_by_weights = false;
  TableRows rows;
  TranslatorTokens tokens;
};

struct Family {
  std::string_view type;  // model_type of config.json: "bert"
  // Where two families share a model_type: whether a config.json is of this one. The first one of
  // them has no such function and gets what the other does not claim.
  bool (*claims)(const nlohmann::json& config) = nullptr;
  std::string_view title;    // "BERT"
  std::string_view classes;  // "Bert" in BertForMaskedLM
  FamilyKind kind = FamilyKind::encoder;
  // The rest of the name of the class with the language head, if it is not the usual one of the
  // kind: "LMHeadModel" in GPT2LMHeadModel.
  std::string_view language_class = {};

  // The fields of config.json. `parse` sets what no field says, reads the table and checks that the
  // values fit together.
  std::vector<ConfigField> fields;
  std::function<void(const JsonFields& fields, FolderConfig& config)> parse;
  // For a translator, after `parse`. `generation`: generation_config.json, or config.json if the
  // former is missing.
  void (*parse_generation)(const JsonFields& fields, const JsonFields& generation,
                           FolderConfig& config) = nullptr;

  // The weights. A family without heads has all of its weights in `body`.
  std::string_view prefix;  // of the body's tensors in a model with a head: "bert."
  std::vector<std::string_view> unprefixed = {};  // tensors of the body that lack the prefix
  WeightGroup body, language_head = {}, pooler = {}, classification_head = {};
  WeightGroup tagging_head = linear_tagging_head();
  StoredSinusoids sinusoids = {};
  std::vector<std::string_view> ignored_endings = {};  // buffers that older releases stored
  std::vector<std::string_view> inside = {};  // import must know every tensor with such a beginning
  bool rotates_halves = false;                // q and k rotate by halves, not by neighbours
  // Both heads begin with the same layers, so a folder has only one head.
  bool one_head = false;
  // transformers adds no row for the token type if there are none.
  bool may_lack_token_types = false;
  // A tagger's head has the dropout of the layers, not that of the classifier's head.
  bool taggers_drop_as_layers = false;
  bool output_bias = false;  // a translator's folder has final_logits_bias
  // The factor that turns the folder's table of tokens into this program's; null: 1.
  double (*table_factor)(const Settings& settings) = nullptr;
  WeightGroup repeated = {};  // tensors that an export writes a second time
  // The table of positions begins with rows for padding: position 0 is row pad_token_id + 1.
  bool pads_positions = false;

  // For exports: reports what the family cannot express.
  void (*expect)(const Settings& settings, Wishes& wishes) = nullptr;
  std::int64_t least_positions = 0;  // positions that an export claims if no table limits them
  void (*note)(const Settings& settings, std::vector<std::string>& notes) = nullptr;
  // The fields of generation_config.json; null: the family writes no such file.
  nlohmann::ordered_json (*generation)(const ExportedConfig& config) = nullptr;
  // A translator's tokenizers. Null: MarianMT's two models with one vocabulary (translator.h).
  void (*read_tokenizers)(const std::filesystem::path& folder, const FolderConfig& config,
                          PretrainedModel& model) = nullptr;
  void (*write_tokenizers)(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                           const std::filesystem::path& folder,
                           std::vector<std::string>& notes) = nullptr;

  std::string architecture(ExportForm form) const;  // "BertForMaskedLM"
  // The name that a model with a head gives to a tensor of one of the groups.
  std::string stored_name(const WeightGroup& group, std::string_view canonical) const;
};

// Reads the table of the folder's family.
void read_fields(const JsonFields& fields, FolderConfig& config);

// The families in the order in which messages name them.
std::span<const Family> all_families();
const Family& family_named(std::string_view type);  // the family must exist
const Family* find_family(std::string_view type);
// The family of a config.json; null for an unknown model_type.
const Family* family_of_config(const nlohmann::json& config);
std::string known_family_types();  // "bert, roformer or nezha"

struct ConfigText {
  std::string_view text;
  std::string file;  // the name for errors
};
// `generation`: empty if the file is missing. Throws Error (failure) for a text that is no such
// file, for a value out of range, and for an architecture that this program does not have.
FolderConfig parse_folder_config(const ConfigText& config, const ConfigText& generation = {});

}  // namespace roformer
