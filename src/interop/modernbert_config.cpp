#include "interop/modernbert_config.h"

#include <fmt/format.h>

#include "base/error.h"
#include "interop/config_fields.h"
#include "interop/modernbert_layers.h"
#include "interop/rope_fields.h"

namespace roformer {
namespace {

using nlohmann::json;

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";
constexpr std::int64_t kLongestWindow = (std::int64_t{1} << 20) - 2;

ActivationKind parse_modernbert_gate(const ConfigFields& fields) {
  const std::string name = fields.text("hidden_activation", "gelu");
  const bool swish = name == "silu" || name == "swish";
  if (!swish && name != "gelu") fields.refuse("hidden_activation", "gelu or silu");
  const std::string head = fields.text("classifier_activation", "gelu");
  if (swish ? head != "silu" && head != "swish" : head != "gelu") {
    fields.refuse("classifier_activation",
                  fmt::format("{}: the heads have the activation of the gates", name));
  }
  return swish ? ActivationKind::swiglu : ActivationKind::geglu;
}

// One flag for all of them: there are biases everywhere, or nowhere.
bool parse_modernbert_bias(const ConfigFields& fields) {
  const bool bias = fields.flag("norm_bias", false);
  for (const char* name : {"attention_bias", "mlp_bias", "classifier_bias"}) {
    if (fields.flag(name, false) == bias) continue;
    fields.refuse(name, fmt::format("{} as \"norm_bias\": all norms and linear layers have biases "
                                    "here, or none",
                                    bias));
  }
  return bias;
}

ModelSettings parse_modernbert_model(const ConfigFields& fields) {
  ModelSettings model{.layers = fields.count("num_hidden_layers", 22, 1, 1000),
                      .width = fields.count("hidden_size", 768, 1, 65536),
                      .heads = fields.count("num_attention_heads", 12, 1, 1024),
                      .feed_forward = fields.count("intermediate_size", 1152, 1, 1 << 20),
                      .vocabulary = fields.count("vocab_size", 50368, 1, 1 << 24),
                      .norm = NormPlacement::pre,
                      .embedding_norm = true,
                      .first_norm = false,
                      .bias = parse_modernbert_bias(fields),
                      .activation = parse_modernbert_gate(fields),
                      .norm_epsilon = fields.small_number("norm_eps", 1e-5),
                      .dropout = fields.probability("embedding_dropout", 0),
                      .tie_output = fields.flag("tie_word_embeddings", true),
                      .initialization = fields.small_number("initializer_range", 0.02)};
  if (model.width % model.heads != 0) {
    fields.refuse("num_attention_heads",
                  fmt::format("a divisor of \"hidden_size\", {}", model.width));
  }
  if (model.width / model.heads % 2 != 0) {
    fields.refuse("num_attention_heads", "so many that a head has an even number of features");
  }
  return model;
}

std::vector<bool> parse_full_layers(const ConfigFields& fields, std::int64_t layers) {
  std::vector<bool> full;
  const json* const types = fields.find("layer_types");
  if (types == nullptr) {
    const std::int64_t step = fields.count("global_attn_every_n_layers", 3, 1, 1000);
    for (std::int64_t layer = 0; layer < layers; ++layer) full.push_back(layer % step == 0);
    return full;
  }
  const std::string wanted =
      fmt::format("{} or {} for each of the {} layers", kFull, kSliding, layers);
  if (!types->is_array() || static_cast<std::int64_t>(types->size()) != layers) {
    fields.refuse("layer_types", wanted);
  }
  for (const json& type : *types) {
    if (type != kFull && type != kSliding) fields.refuse("layer_types", wanted);
    full.push_back(type == kFull);
  }
  return full;
}

// Of one kind of layers: rope_parameters' where they are there, else the older field's.
double parse_base(const ConfigFields& fields, const std::string& file, const char* kind,
                  double standard) {
  const json* const rotations = fields.find("rope_parameters");
  if (rotations == nullptr) return standard;
  const json none = json::object();
  const auto found = rotations->find(kind);
  const ConfigFields rope(found == rotations->end() || found->is_null() ? none : *found, file);
  if (rope.text("rope_type", "default") != "default") {
    rope.refuse("rope_type", "default: the rotations of a ModernBERT are not scaled here");
  }
  return rotary_base(rope, "rope_theta", standard);
}

void require_known_rotations(const ConfigFields& fields) {
  if (fields.find("rope_scaling") != nullptr) {
    fields.refuse("rope_scaling", "null: the rotations of a ModernBERT are not scaled here");
  }
  const json* const rotations = fields.find("rope_parameters");
  if (rotations == nullptr) return;
  const std::string wanted =
      fmt::format("an object with one rotation for {} and one for {}", kFull, kSliding);
  if (!rotations->is_object()) fields.refuse("rope_parameters", wanted);
  for (const auto& [key, value] : rotations->items()) {
    const bool known = key == kFull || key == kSliding;
    if (!known || !(value.is_object() || value.is_null())) fields.refuse("rope_parameters", wanted);
  }
}

ModernBertLayers parse_modernbert_layers(const json& document, const ConfigFields& fields,
                                         const std::string& file, std::int64_t layers) {
  require_known_rotations(fields);
  ModernBertLayers result{.full = parse_full_layers(fields, layers)};
  // Theirs is the whole window without its middle; an odd one is rounded down.
  std::int64_t side = fields.count("local_attention", 128, 0, kLongestWindow) / 2;
  if (fields.find("sliding_window") != nullptr) {  // the newer name, of one side
    const std::int64_t newer = fields.count("sliding_window", side, 0, kLongestWindow / 2);
    if (fields.find("local_attention") != nullptr && newer != side) {
      fields.refuse("sliding_window", fmt::format("{}, half of local_attention", side));
    }
    side = newer;
  }
  result.window = 2 * side + 1;
  const double full_base = rotary_base(fields, "global_rope_theta", result.full_base);
  // Null: as the others' (transformers before 5).
  const char* const kLocal = "local_rope_theta";
  const bool shared = document.contains(kLocal) && document[kLocal].is_null();
  const double window_base = shared ? full_base : rotary_base(fields, kLocal, result.window_base);
  result.full_base = parse_base(fields, file, kFull, full_base);
  result.window_base = parse_base(fields, file, kSliding, window_base);
  return result;
}

TextPooling parse_pooling(const ConfigFields& fields) {
  const std::string name = fields.text("classifier_pooling", "cls");
  if (name != "cls" && name != "mean") fields.refuse("classifier_pooling", "cls or mean");
  return name == "mean" ? TextPooling::mean : TextPooling::first;
}

}  // namespace

ModernBertConfig parse_modernbert_config(const json& document, const std::string& file) {
  const ConfigFields fields(document, file);
  ModernBertConfig config;
  Settings& settings = config.settings;
  settings.model = parse_modernbert_model(fields);
  settings.attention.dropout = fields.probability("attention_dropout", 0);
  settings.data.length = fields.count("max_position_embeddings", 8192, 1, 1 << 30);
  set_modernbert_layers(parse_modernbert_layers(document, fields, file, settings.model.layers),
                        settings);
  settings.glue.head = ClassifierHead::modernbert;
  settings.glue.head_dropout = fields.probability("classifier_dropout", 0);
  settings.glue.pooling = parse_pooling(fields);
  config.decoder_bias = fields.flag("decoder_bias", true);
  const double inner = fields.probability("mlp_dropout", 0);
  if (settings.model.dropout > 0 || settings.attention.dropout > 0 || inner > 0) {
    config.notes.push_back(fmt::format(
        "its dropout in training (embedding_dropout {}, attention_dropout {}, mlp_dropout {}) has "
        "other places than here: model.dropout is {}, attention.dropout {}",
        settings.model.dropout, settings.attention.dropout, inner, settings.model.dropout,
        settings.attention.dropout));
  }
  return config;
}

void add_modernbert_fields(const Settings& settings, nlohmann::ordered_json& document) {
  const ModelSettings& model = settings.model;
  std::vector<std::string> problems;
  const ModernBertLayers layers = modernbert_layers_of(settings, problems);
  ROFORMER_ASSERT(problems.empty());
  const char* const activation = model.activation == ActivationKind::swiglu ? "silu" : "gelu";
  document["hidden_activation"] = activation;
  document["classifier_activation"] = activation;
  document["norm_eps"] = model.norm_epsilon;
  for (const char* name : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"}) {
    document[name] = model.bias;
  }
  document["decoder_bias"] = true;
  document["embedding_dropout"] = model.dropout;
  document["mlp_dropout"] = model.dropout;
  document["attention_dropout"] = settings.attention.dropout;
  document["classifier_dropout"] = settings.glue.head_dropout;
  document["classifier_pooling"] = settings.glue.pooling == TextPooling::mean ? "mean" : "cls";
  document["local_attention"] = layers.window - 1;
  const std::int64_t step = step_of_full_layers(layers.full);
  if (step > 0) document["global_attn_every_n_layers"] = step;
  document["global_rope_theta"] = layers.full_base;
  document["local_rope_theta"] = layers.window_base;
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const bool full : layers.full) types.push_back(full ? kFull : kSliding);
  document["layer_types"] = std::move(types);
  document["rope_parameters"] = {
      {kFull, {{"rope_type", "default"}, {"rope_theta", layers.full_base}}},
      {kSliding, {{"rope_type", "default"}, {"rope_theta", layers.window_base}}}};
}

}  // namespace roformer
