#include "interop/config_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

using Json = ConfigField::Json;

struct ActivationName {
  const char* theirs;
  ActivationKind ours;
};
// An export writes the first name of each kind.
constexpr std::array kActivations = {
    ActivationName{"gelu", ActivationKind::gelu},
    ActivationName{"gelu_python", ActivationKind::gelu},
    ActivationName{"gelu_new", ActivationKind::gelu_tanh},
    ActivationName{"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
    ActivationName{"gelu_fast", ActivationKind::gelu_tanh},  // with 0.79788456 for sqrt(2 / pi)
    ActivationName{"relu", ActivationKind::relu},
    ActivationName{"swish", ActivationKind::swish},
    ActivationName{"silu", ActivationKind::swish},
};

constexpr std::array kGates = {
    ActivationName{"silu", ActivationKind::swiglu},
    ActivationName{"swish", ActivationKind::swiglu},
    ActivationName{"gelu", ActivationKind::geglu},
    ActivationName{"gelu_pytorch_tanh", ActivationKind::geglu_tanh},
    ActivationName{"gelu_new", ActivationKind::geglu_tanh},
};

ActivationKind read_activation(const JsonFields& fields, const std::string& name,
                               const std::string& standard) {
  const std::string word = fields.text(name, standard);
  std::string known;
  for (const ActivationName& activation : kActivations) {
    if (activation.theirs == word) return activation.ours;
    known += (known.empty() ? "" : ", ") + std::string(activation.theirs);
  }
  fields.refuse(name, "one of " + known);
}

const char* activation_name(ActivationKind kind) {
  for (const ActivationName& name : kActivations) {
    if (name.ours == kind) return name.theirs;
  }
  ROFORMER_ASSERT(false && "transformers has a name for every activation without a gate");
  return "";
}

// A field of the model whose JSON value is the value of the member.
template <class Value, class Read>
ConfigField model_field(std::string name, Value ModelSettings::*member, Read read) {
  return {
      .name = name,
      .read = [=](const JsonFields& fields,
                  Settings& settings) { settings.model.*member = read(fields, name); },
      .write = [=](const ExportedConfig& config) { return Json(config.settings.model.*member); }};
}

}  // namespace

nlohmann::ordered_json id_or_null(std::int64_t id) {
  return id < 0 ? Json() : Json(id);
}

ConfigField count(std::string name, ModelCount member, std::int64_t standard, const Range& range,
                  std::string also) {
  return model_field(std::move(name), member,
                     [=](const JsonFields& fields, const std::string& name) {
                       return fields.count(name_in_file(fields, name, also), standard, range);
                     });
}

ConfigField probability(std::string name, ModelNumber member, double standard) {
  return model_field(std::move(name), member,
                     [=](const JsonFields& fields, const std::string& name) {
                       return fields.number(name, standard, below_one());
                     });
}

ConfigField epsilon(std::string name, ModelNumber member, double standard) {
  return model_field(std::move(name), member,
                     [=](const JsonFields& fields, const std::string& name) {
                       return fields.number(name, standard, up_to_one());
                     });
}

ConfigField flag(std::string name, bool ModelSettings::*member, bool standard) {
  return model_field(std::move(name), member,
                     [=](const JsonFields& fields, const std::string& name) {
                       return fields.flag(name, standard);
                     });
}

ConfigField attention_dropout(std::string name, double standard) {
  return {.name = name,
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                settings.attention.dropout = fields.number(name, standard, below_one());
              },
          .write = [](const ExportedConfig& config) { return config.settings.attention.dropout; }};
}

ConfigField activation(std::string name, std::string standard) {
  return {.name = name,
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                settings.model.activation = read_activation(fields, name, standard);
              },
          .write =
              [](const ExportedConfig& config) {
                return activation_name(config.settings.model.activation);
              }};
}

ConfigField positions(std::int64_t standard, std::int64_t most, std::string name,
                      std::string also) {
  return {.name = name,
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                settings.data.length = fields.count(name_in_file(fields, name, also), standard,
                                                    between(1, static_cast<double>(most)));
              },
          .write = [](const ExportedConfig& config) { return config.positions; }};
}

ConfigField constant(std::string name, nlohmann::ordered_json value) {
  return {
      .name = std::move(name), .read = {}, .write = [=](const ExportedConfig&) { return value; }};
}

ConfigField written(std::string name,
                    std::function<ConfigField::Json(const ExportedConfig&)> write) {
  return {.name = std::move(name), .read = {}, .write = std::move(write)};
}

void read_fields(const std::vector<ConfigField>& table, const JsonFields& fields,
                 Settings& settings) {
  for (const ConfigField& field : table) {
    if (field.read) field.read(fields, settings);
  }
}

nlohmann::ordered_json write_fields(const std::vector<ConfigField>& table,
                                    const ExportedConfig& config) {
  Json document;
  for (const ConfigField& field : table) {
    if (!field.write) continue;
    Json value = field.write(config);
    if (!value.is_discarded()) document[field.name] = std::move(value);
  }
  return document;
}

std::string name_in_file(const JsonFields& fields, const std::string& name,
                         const std::string& also) {
  return also.empty() || fields.find(name) != nullptr ? name : also;
}

void require_divisor(const JsonFields& fields, const char* name, std::int64_t value, const char* of,
                     std::int64_t whole) {
  if (whole % value != 0) fields.refuse(name, fmt::format("a divisor of \"{}\", {}", of, whole));
}

ActivationKind read_gate(const JsonFields& fields, const std::string& name,
                         const std::string& standard) {
  const std::string word = fields.text(name, standard);
  for (const ActivationName& gate : kGates) {
    if (gate.theirs == word) return gate.ours;
  }
  fields.refuse(name, "silu, gelu or gelu_pytorch_tanh");
}

const char* gate_name(ActivationKind gate) {
  return std::ranges::find(kGates, gate, &ActivationName::ours)->theirs;
}

std::vector<std::string> read_names(const JsonFields& fields, const char* name) {
  std::vector<std::string> names;
  const nlohmann::json* const list = fields.find(name);
  if (list == nullptr) return names;
  if (!list->is_array()) fields.refuse(name, "a list of names");
  for (const nlohmann::json& entry : *list) {
    if (!entry.is_string()) fields.refuse(name, "a list of names");
    names.push_back(entry.get<std::string>());
  }
  return names;
}

void require_flag(const JsonFields& fields, const char* name, bool standard, bool value,
                  const char* wanted) {
  if (fields.flag(name, standard) != value) fields.refuse(name, wanted);
}

}  // namespace roformer
