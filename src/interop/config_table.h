// config.json as a table. Each row describes one field: its name, default and range, and the
// setting that holds its value. Import and export share the rows, which have the file's order.
//
//   count("num_hidden_layers", &ModelSettings::layers, 12, between(1, 1000)),
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "config/settings.h"
#include "interop/weight_map.h"

namespace roformer {

// Ids of a vocabulary; -1: no such token.
struct TranslatorTokens {
  std::int64_t padding = -1;
  std::int64_t begin = -1;  // the decoder starts with it
  std::int64_t end = -1;
  std::vector<std::int64_t> never = {};  // generate() never chooses them
};

// Everything that an export writes into config.json. `settings.model.vocabulary` and rope's
// original_length are resolved. An id of -1 means that there is none.
struct ExportedConfig {
  const Settings& settings;
  std::string_view model_type = {};
  std::string architecture = {};                     // "BertForMaskedLM"
  std::int64_t positions = 0;                        // rows of the table of positions or sinusoids
  std::int64_t padding = -1;                         // id of [PAD]
  std::int64_t classification = -1, separator = -1;  // ids of [CLS] and [SEP]
  std::vector<std::int64_t> ends = {};               // ids that end a text
  std::int64_t classes = 0;  // number of classes of a classification head; 0: no such head
  std::vector<std::string> labels = {};         // names of the classes; may be empty
  TargetKind target_kind = TargetKind::single;  // of the classes
  TableRows rows = {};                          // for a translator only
  TranslatorTokens tokens = {};                 // for a translator only
};

struct ConfigField {
  using Json = nlohmann::ordered_json;
  std::string name;
  // Null `read`: import ignores the field; null `write`: export leaves it out. A function that
  // writes may also return kLeftOut to leave the field out.
  std::function<void(const JsonFields& fields, Settings& settings)> read;
  std::function<Json(const ExportedConfig& config)> write;
};

// The value that leaves a field out.
inline nlohmann::ordered_json left_out() {
  return nlohmann::ordered_json::value_t::discarded;
}
// Returns null for an id of -1.
nlohmann::ordered_json id_or_null(std::int64_t id);

using ModelCount = std::int64_t ModelSettings::*;
using ModelNumber = double ModelSettings::*;
// `also`: another name of the field, which transformers reads too; empty: none.
ConfigField count(std::string name, ModelCount member, std::int64_t standard, const Range& range,
                  std::string also = {});
ConfigField probability(std::string name, ModelNumber member, double standard);
ConfigField epsilon(std::string name, ModelNumber member, double standard);  // above 0, up to 1
ConfigField flag(std::string name, bool ModelSettings::*member, bool standard);
ConfigField attention_dropout(std::string name, double standard);
// An ungated activation by transformers' name; `standard` if the field is missing.
ConfigField activation(std::string name, std::string standard = "gelu");
// The longest text; reading it sets data.length.
ConfigField positions(std::int64_t standard, std::int64_t most,
                      std::string name = "max_position_embeddings", std::string also = {});
ConfigField constant(std::string name, nlohmann::ordered_json value);
ConfigField written(std::string name,
                    std::function<ConfigField::Json(const ExportedConfig&)> write);

void read_fields(const std::vector<ConfigField>& table, const JsonFields& fields,
                 Settings& settings);
nlohmann::ordered_json write_fields(const std::vector<ConfigField>& table,
                                    const ExportedConfig& config);

// Readers for fields that several families share. Each throws Error (failure).
// The name under which the file has a field: `also` if only that is there.
std::string name_in_file(const JsonFields& fields, const std::string& name,
                         const std::string& also);
void require_divisor(const JsonFields& fields, const char* name, std::int64_t value, const char* of,
                     std::int64_t whole);
// The gate of a feed-forward part by the name of its activation, and that name.
ActivationKind read_gate(const JsonFields& fields, const std::string& name,
                         const std::string& standard);
const char* gate_name(ActivationKind gate);
// A list of names; empty if the field is missing.
std::vector<std::string> read_names(const JsonFields& fields, const char* name);
// Throws if a flag does not have the value that this program computes with; `wanted`: "false: why".
void require_flag(const JsonFields& fields, const char* name, bool standard, bool value,
                  const char* wanted);

}  // namespace roformer
