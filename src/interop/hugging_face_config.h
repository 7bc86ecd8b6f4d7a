// config.json of a Hugging Face folder: which of BERT, RoFormer and ModernBERT it describes, and
// its numbers as settings of this program. The first two are post-norm encoders; BERT adds a
// learned table of positions, RoFormer rotates neighbouring features of queries and keys (and, with
// rotary_value, of values). Field names and defaults: transformers' configuration_bert.py and
// configuration_roformer.py; ModernBERT's are in modernbert_config.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

enum class HuggingFaceFamily { bert, roformer, modernbert };

struct HuggingFaceConfig {
  HuggingFaceFamily family = HuggingFaceFamily::bert;
  // model.* with the vocabulary, position.*, attention.*; glue.head, glue.head_dropout and
  // glue.pooling as the family has them; data.length: max_position_embeddings.
  Settings settings;
  bool decoder_bias = true;                // of the language head's last layer
  std::vector<std::string> notes;          // what trains otherwise here, one sentence each
  std::vector<std::string> architectures;  // "BertForMaskedLM"; may be empty
  std::vector<std::string> labels;         // of id2label, by number; empty where it has none
  std::string task;                        // finetuning_task; empty where it has none
};

// `file` is named in errors. Throws Error (failure) for what is not such a file, for a value
// out of range, and for an architecture that this program does not have.
HuggingFaceConfig parse_hugging_face_config(std::string_view text, const std::string& file);

// What config.json of an export says. `settings.model.vocabulary` is resolved. Ids of -1: none.
struct ExportedConfig {
  HuggingFaceFamily family = HuggingFaceFamily::bert;
  const Settings& settings;
  std::string architecture;         // "BertForMaskedLM"
  std::int64_t token_types = 0;     // rows of the exported table
  std::int64_t positions = 0;       // rows of the table of positions or sinusoids
  std::int64_t padding = -1;        // id of [PAD]
  std::int64_t classification = -1, separator = -1;  // ids of [CLS] and [SEP]
  std::int64_t classes = 0;         // of a classification head; 0: none
  std::vector<std::string> labels;  // names of the classes; may be empty
};
nlohmann::ordered_json to_hugging_face_config(const ExportedConfig& config);

std::string_view family_name(HuggingFaceFamily family);  // "BERT"

}  // namespace roformer
