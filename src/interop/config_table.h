// config.json as a table. Each row describes one field: its name, default and range, and the
// setting that holds its value. Import and export share the rows, which have the file's order.
//
//   count("num_hidden_layers", &ModelSettings::layers, 12, between(1, 1000)),
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
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

// The name under which the file has a field: `also` if only that is there.
std::string name_in_file(const JsonFields& fields, const std::string& name,
                         const std::string& also);

// The section that has the members of `Section`; other structs are options of a scheme.
template <class Section>
auto& section_of(auto& settings) {
  if constexpr (std::is_same_v<Section, ModelSettings>) {
    return settings.model;
  } else if constexpr (std::is_same_v<Section, AttentionSettings>) {
    return settings.attention;
  } else if constexpr (std::is_same_v<Section, TranslationSettings>) {
    return settings.translation;
  } else {
    return settings.position.template of<Section>();
  }
}
// A field with the value of one member: &ModelSettings::width, &RopeSettings::base. `read` and
// `write` turn the field into the member's value and back.
template <class Section, class Value, class Read, class Write>
ConfigField setting(std::string name, Value Section::*member, Read read, Write write) {
  return {.name = name,
          .read = [=](const JsonFields& fields,
                      Settings& all) { section_of<Section>(all).*member = read(fields, name); },
          .write =
              [=](const ExportedConfig& config) {
                return ConfigField::Json(write(section_of<Section>(config.settings).*member));
              }};
}
template <class Section, class Value, class Read>
ConfigField setting(std::string name, Value Section::*member, Read read) {
  return setting(std::move(name), member, read, std::identity());
}
// `also`: another name of the field, which transformers reads too; empty: none.
template <class Section>
ConfigField count(std::string name, std::int64_t Section::*member, std::int64_t standard,
                  const Range& range, std::string also = {}) {
  return setting(std::move(name), member, [=](const JsonFields& fields, const std::string& field) {
    return fields.count(name_in_file(fields, field, also), standard, range);
  });
}
template <class Section>
ConfigField number(std::string name, double Section::*member, double standard, const Range& range) {
  return setting(std::move(name), member, [=](const JsonFields& fields, const std::string& field) {
    return fields.number(field, standard, range);
  });
}
template <class Section>
ConfigField probability(std::string name, double Section::*member, double standard) {
  return number(std::move(name), member, standard, below_one());
}
inline ConfigField epsilon(std::string name, double ModelSettings::*member, double standard) {
  return number(std::move(name), member, standard, up_to_one());
}
template <class Section>
ConfigField flag(std::string name, bool Section::*member, bool standard) {
  return setting(std::move(name), member, [=](const JsonFields& fields, const std::string& field) {
    return fields.flag(field, standard);
  });
}
// The layers of a decoder, which has as many as the encoder unless the file says otherwise.
// `standard`: -1: the encoder's.
ConfigField decoder_layers(std::string name, std::int64_t standard);
// An ungated activation by transformers' name; `standard` if the field is missing.
ConfigField activation(std::string name, ActivationKind standard = ActivationKind::gelu);
// The gate of a feed-forward part by the name of its activation.
ConfigField gate(std::string name, ActivationKind standard);
// The longest text; reading it sets data.length.
ConfigField positions(std::int64_t standard, std::int64_t most,
                      std::string name = "max_position_embeddings", std::string also = {});
ConfigField constant(std::string name, nlohmann::ordered_json value);
// A field that is only written.
ConfigField written(std::string name,
                    std::function<ConfigField::Json(const ExportedConfig&)> write);
// architectures and model_type, with which every table begins.
std::vector<ConfigField> class_fields();

template <class Item>
std::vector<Item> joined(std::initializer_list<std::vector<Item>> lists) {
  std::vector<Item> all;
  for (const std::vector<Item>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

nlohmann::ordered_json write_fields(const std::vector<ConfigField>& table,
                                    const ExportedConfig& config);

// Readers for fields that several families share. Each throws Error (failure).
void require_divisor(const JsonFields& fields, const char* name, std::int64_t value, const char* of,
                     std::int64_t whole);
// The first of the words with this meaning, which an export writes; null if there is none.
template <class Choice>
const char* word_of(FieldWords<Choice> words, Choice choice) {
  for (const auto& [word, meaning] : words) {
    if (meaning == choice) return word;
  }
  return nullptr;
}
ActivationKind read_gate(const JsonFields& fields, const std::string& name,
                         ActivationKind standard);
const char* gate_name(ActivationKind gate);
// A list of names; empty if the field is missing.
std::vector<std::string> read_names(const JsonFields& fields, const char* name);
// Throws if a flag does not have the value that this program computes with; `wanted`: "false: why".
void require_flag(const JsonFields& fields, const char* name, bool standard, bool value,
                  const char* wanted);

}  // namespace roformer
