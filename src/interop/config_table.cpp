#include "interop/config_table.h"

#include <fmt/format.h>

#include <utility>

namespace roformer {
namespace {

using Json = ConfigField::Json;

constexpr FieldWords<ActivationKind> kActivations = {
    {"gelu", ActivationKind::gelu},           {"gelu_python", ActivationKind::gelu},
    {"gelu_new", ActivationKind::gelu_tanh},  {"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
    {"gelu_fast", ActivationKind::gelu_tanh},  // with 0.79788456 for sqrt(2 / pi)
    {"relu", ActivationKind::relu},           {"swish", ActivationKind::swish},
    {"silu", ActivationKind::swish},
};
constexpr FieldWords<ActivationKind> kGates = {
    {"silu", ActivationKind::swiglu},         {"swish", ActivationKind::swiglu},
    {"gelu", ActivationKind::geglu},          {"gelu_pytorch_tanh", ActivationKind::geglu_tanh},
    {"gelu_new", ActivationKind::geglu_tanh},
};

}  // namespace

nlohmann::ordered_json id_or_null(std::int64_t id) {
  return id < 0 ? Json() : Json(id);
}

ConfigField decoder_layers(std::string name, std::int64_t standard) {
  return {.name = name,
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                const std::int64_t same = settings.model.layers;
                const std::int64_t layers =
                    fields.count(name, standard < 0 ? same : standard, between(1, 1000));
                settings.translation.decoder_layers = layers == same ? 0 : layers;
              },
          .write =
              [](const ExportedConfig& config) {
                const std::int64_t layers = config.settings.translation.decoder_layers;
                return layers > 0 ? layers : config.settings.model.layers;
              }};
}

ConfigField activation(std::string name, ActivationKind standard) {
  return setting(
      std::move(name), &ModelSettings::activation,
      [=](const JsonFields& fields, const std::string& field) {
        return fields.word(field, standard, kActivations);
      },
      [](ActivationKind kind) { return word_of(kActivations, kind); });
}

ConfigField gate(std::string name, ActivationKind standard) {
  return setting(
      std::move(name), &ModelSettings::activation,
      [=](const JsonFields& fields, const std::string& field) {
        return read_gate(fields, field, standard);
      },
      gate_name);
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

std::vector<ConfigField> class_fields() {
  return {written("architectures",
                  [](const ExportedConfig& c) { return Json::array({c.architecture}); }),
          written("model_type", [](const ExportedConfig& c) { return c.model_type; })};
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
                         ActivationKind standard) {
  return fields.word(name, standard, kGates);
}

const char* gate_name(ActivationKind gate) {
  return word_of(kGates, gate);
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
