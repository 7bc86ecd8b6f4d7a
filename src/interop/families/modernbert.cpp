// ModernBERT (Warner et al. 2024): a pre-norm encoder with gated feed-forward layers. A norm of the
// embedding takes the place of the first layer's norm, and layers that see the whole text alternate
// with layers that have a window. Field names and defaults: transformers'
// configuration_modernbert.py, in the form of version 5 (layer_types, rope_parameters) and of the
// releases before it (global_attn_every_n_layers, global_rope_theta, local_rope_theta).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/attention_settings.h"
#include "config/position_facts.h"
#include "config/schemes/layers.h"
#include "config/schemes/rope.h"
#include "config/task_facts.h"
#include "interop/expressible.h"
#include "interop/families/encoder.h"
#include "interop/families/list.h"
#include "interop/rope_fields.h"

namespace roformer {
namespace {

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";
constexpr std::int64_t kLongestWindow = (std::int64_t{1} << 20) - 2;

// Which layers see the whole text, which see a window around each token, and the base of the
// rotation of either kind.
struct ModernBertLayers {
  std::vector<bool> full;  // for each layer: whether it sees the whole text
  // tokens that the other layers see, as many on the left as on the right
  std::int64_t window = 129;
  double full_base = 160000, window_base = 10000;

  bool some_full() const { return std::ranges::find(full, true) != full.end(); }
  bool all_full() const { return std::ranges::find(full, false) == full.end(); }
  // n if exactly the layers 0, n, 2n, ... see the whole text; 0 otherwise.
  std::int64_t step() const {
    const auto layers = static_cast<std::int64_t>(full.size());
    for (std::int64_t step = 1; step <= layers; ++step) {
      bool fits = true;
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        fits = fits && full[static_cast<std::size_t>(layer)] == (layer % step == 0);
      }
      if (fits) return step;
    }
    return 0;
  }
  // The layers that see the whole text as a key of a map of layers: "0-last/3", "0,4,5".
  std::string key_of_full() const {
    if (step() > 0 && step() < static_cast<std::int64_t>(full.size())) {
      return fmt::format("0-last/{}", step());
    }
    std::vector<std::size_t> layers;
    for (std::size_t layer = 0; layer < full.size(); ++layer) {
      if (full[layer]) layers.push_back(layer);
    }
    return fmt::format("{}", fmt::join(layers, ","));
  }
};

// Writes the layers into attention.* and position.*.
void set_layers(const ModernBertLayers& layers, Settings& settings) {
  const auto window = [](std::string which, std::int64_t window) {
    return LayerMapEntry{
        .layers = std::move(which), .text = "", .options = {{"window", std::to_string(window)}}};
  };
  const auto rotation = [](std::string which, double base) {
    return LayerMapEntry{
        .layers = std::move(which),
        .text = "",
        .options = {{"scheme", "rope"}, {"layout", "half"}, {"base", fmt::format("{}", base)}}};
  };
  const bool mixed = layers.some_full() && !layers.all_full();
  const std::string full = layers.key_of_full();
  if (mixed) {
    settings.attention.layers = {window(full, 0), window("others", layers.window)};
  } else {
    settings.attention.window = layers.all_full() ? 0 : layers.window;
  }
  if (mixed && layers.full_base != layers.window_base) {
    settings.position.scheme = "layers";
    settings.position.of<LayersSettings>().schemes = {rotation(full, layers.full_base),
                                                      rotation("others", layers.window_base)};
    return;
  }
  settings.position.scheme = "rope";
  RopeSettings& rope = settings.position.of<RopeSettings>();
  rope.layout = RotaryLayout::half;
  rope.base = layers.some_full() ? layers.full_base : layers.window_base;
}

void find_windows(const Settings& settings, Wishes& wishes, ModernBertLayers& result) {
  std::set<std::int64_t> windows;
  for (const AttentionSettings& layer :
       attention_of_layers(settings.attention, settings.model.layers)) {
    result.full.push_back(layer.window == 0);
    if (layer.window > 0) windows.insert(layer.window);
    wishes.expect(layer.kernel == AttentionKernel::softmax,
                  "ModernBERT's attention is a softmax (attention.kernel softmax)");
    wishes.expect(layer.log_n == LogNScaling::none,
                  "its scores do not grow with the length (attention.log_n none)");
    wishes.expect(layer.dropout == settings.attention.dropout,
                  "all of its layers have the same dropout (attention.dropout)");
    wishes.expect(layer.window % 2 == 1 || layer.window == 0,
                  "its windows reach as far to the left as to the right: an odd number of tokens "
                  "(attention.window)");
  }
  wishes.expect(windows.size() <= 1, "its windows have one size (attention.layers)");
  if (!windows.empty()) result.window = *windows.begin();
}

void find_rotations(const Settings& settings, Wishes& wishes, ModernBertLayers& result) {
  std::optional<double> full_base, window_base;
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    const bool is_rope = part.position.scheme == "rope";
    wishes.expect(is_rope, fmt::format("its positions are rope in every layer, not {}",
                                       part.position.scheme));
    if (!is_rope) continue;
    const RopeSettings& rope = part.position.of<RopeSettings>();
    wishes.expect(rope.fraction == 1, "it rotates whole heads (position.rope.fraction 1)");
    wishes.expect(!rope.value, "it does not rotate values (position.rope.value false)");
    wishes.expect(rope.offset == 0, "its positions begin at 0 (position.rope.offset)");
    wishes.expect(rope.scaling == RopeScaling::none,
                  "its frequencies are not scaled (position.rope.scaling none)");
    wishes.expect(rope.attention_factor == 0 || rope.attention_factor == 1,
                  "it scales neither queries nor keys (position.rope.attention_factor 0)");
    for (const std::int64_t layer : part.layers) {
      std::optional<double>& base =
          result.full[static_cast<std::size_t>(layer)] ? full_base : window_base;
      wishes.expect(base.value_or(rope.base) == rope.base,
                    "its layers of one kind, with a window or without, share a base "
                    "(position.layers)");
      base = rope.base;
    }
  }
  result.full_base = full_base.value_or(result.full_base);
  result.window_base = window_base.value_or(result.window_base);
}

ModernBertLayers layers_of(const Settings& settings, Wishes& wishes) {
  ModernBertLayers result;
  find_windows(settings, wishes, result);
  find_rotations(settings, wishes, result);
  return result;
}

// The layers of a model that ModernBERT can express.
ModernBertLayers layers_of(const Settings& settings) {
  Wishes wishes;
  ModernBertLayers layers = layers_of(settings, wishes);
  ROFORMER_ASSERT(wishes.problems().empty());
  return layers;
}

ActivationKind read_gates(const JsonFields& fields) {
  const ActivationKind gate = read_gate(fields, "hidden_activation", ActivationKind::geglu);
  if (read_gate(fields, "classifier_activation", ActivationKind::geglu) != gate) {
    fields.refuse("classifier_activation",
                  fmt::format("{}: the heads have the activation of the gates", gate_name(gate)));
  }
  return gate;
}

// One setting for all biases: the model has all of them or none.
bool read_biases(const JsonFields& fields) {
  const bool bias = fields.flag("norm_bias", false);
  for (const char* name : {"attention_bias", "mlp_bias", "classifier_bias"}) {
    if (fields.flag(name, false) == bias) continue;
    fields.refuse(name, fmt::format("{} as \"norm_bias\": all norms and linear layers have biases "
                                    "here, or none",
                                    bias));
  }
  return bias;
}

TextPooling read_pooling(const JsonFields& fields) {
  const std::string name = fields.text("classifier_pooling", "cls");
  if (name != "cls" && name != "mean") fields.refuse("classifier_pooling", "cls or mean");
  return name == "mean" ? TextPooling::mean : TextPooling::first;
}

std::vector<bool> read_full_layers(const JsonFields& fields, std::int64_t layers) {
  std::vector<bool> full;
  const nlohmann::json* const types = fields.find("layer_types");
  if (types == nullptr) {
    const std::int64_t step = fields.count("global_attn_every_n_layers", 3, between(1, 1000));
    for (std::int64_t layer = 0; layer < layers; ++layer) full.push_back(layer % step == 0);
    return full;
  }
  const std::string wanted =
      fmt::format("{} or {} for each of the {} layers", kFull, kSliding, layers);
  if (!types->is_array() || static_cast<std::int64_t>(types->size()) != layers) {
    fields.refuse("layer_types", wanted);
  }
  for (const nlohmann::json& type : *types) {
    if (type != kFull && type != kSliding) fields.refuse("layer_types", wanted);
    full.push_back(type == kFull);
  }
  return full;
}

// The base for one kind of layer: from rope_parameters if it is there, else from the older field.
double read_base(const JsonFields& fields, const char* kind, double standard) {
  if (fields.find("rope_parameters") == nullptr) return standard;
  const JsonFields rotations = fields.object("rope_parameters");
  if (rotations.find(kind) == nullptr) return standard;
  const JsonFields rope = rotations.object(kind);
  if (rope.text("rope_type", "default") != "default") {
    rope.refuse("rope_type", "default: the rotations of a ModernBERT are not scaled here");
  }
  return rotary_base(rope, "rope_theta", standard);
}

void require_known_rotations(const JsonFields& fields) {
  if (fields.find("rope_scaling") != nullptr) {
    fields.refuse("rope_scaling", "null: the rotations of a ModernBERT are not scaled here");
  }
  const nlohmann::json* const rotations = fields.find("rope_parameters");
  if (rotations == nullptr) return;
  const std::string wanted =
      fmt::format("an object with one rotation for {} and one for {}", kFull, kSliding);
  if (!rotations->is_object()) fields.refuse("rope_parameters", wanted);
  for (const auto& [key, value] : rotations->items()) {
    const bool known = key == kFull || key == kSliding;
    if (!known || !(value.is_object() || value.is_null())) fields.refuse("rope_parameters", wanted);
  }
}

ModernBertLayers read_layers(const JsonFields& fields, std::int64_t layers) {
  require_known_rotations(fields);
  ModernBertLayers result{.full = read_full_layers(fields, layers)};
  // transformers counts the whole window without its middle and rounds an odd window down.
  std::int64_t side = fields.count("local_attention", 128, between(0, kLongestWindow)) / 2;
  if (fields.find("sliding_window") != nullptr) {  // the newer field, which counts one side
    const std::int64_t newer = fields.count("sliding_window", side, between(0, kLongestWindow / 2));
    if (fields.find("local_attention") != nullptr && newer != side) {
      fields.refuse("sliding_window", fmt::format("{}, half of local_attention", side));
    }
    side = newer;
  }
  result.window = 2 * side + 1;
  const double full_base = rotary_base(fields, "global_rope_theta", result.full_base);
  // Null: the base of the other layers (transformers before 5).
  const bool shared = fields.has("local_rope_theta") && fields.find("local_rope_theta") == nullptr;
  const double window_base =
      shared ? full_base : rotary_base(fields, "local_rope_theta", result.window_base);
  result.full_base = read_base(fields, kFull, full_base);
  result.window_base = read_base(fields, kSliding, window_base);
  return result;
}

void parse_modernbert(const JsonFields& fields, FolderConfig& config) {
  refuse_decoders(fields);
  require_absolute_positions(fields);
  Settings& settings = config.settings;
  ModelSettings& model = settings.model;
  model.norm = NormPlacement::pre;
  model.embedding_norm = true;
  model.first_norm = false;
  read_fields(fields, config);
  model.bias = read_biases(fields);
  model.activation = read_gates(fields);
  require_divisor(fields, "num_attention_heads", model.heads, "hidden_size", model.width);
  require_even_heads(fields, model);
  set_layers(read_layers(fields, model.layers), settings);
  settings.glue.head = ClassifierHead::modernbert;
  settings.glue.head_dropout = fields.number("classifier_dropout", 0, below_one());
  settings.glue.pooling = read_pooling(fields);
  config.decoder_bias = fields.flag("decoder_bias", true);
  const double inner = fields.number("mlp_dropout", 0, below_one());
  if (model.dropout > 0 || settings.attention.dropout > 0 || inner > 0) {
    config.notes.push_back(fmt::format(
        "its dropout in training (embedding_dropout {}, attention_dropout {}, mlp_dropout {}) has "
        "other places than here: model.dropout is {}, attention.dropout {}",
        model.dropout, settings.attention.dropout, inner, model.dropout,
        settings.attention.dropout));
  }
  read_classes(fields, config);
}

std::vector<ConfigField> modernbert_fields() {
  using Json = ConfigField::Json;
  const auto activation = [](const ExportedConfig& c) {
    return gate_name(c.settings.model.activation);
  };
  const auto bias = [](const ExportedConfig& c) { return c.settings.model.bias; };
  const auto cls = [](const ExportedConfig& c) { return id_or_null(c.classification); };
  const auto sep = [](const ExportedConfig& c) { return id_or_null(c.separator); };
  const auto layers = [](const auto& value) {
    return [value](const ExportedConfig& c) -> Json { return value(layers_of(c.settings)); };
  };
  return {
      written("hidden_activation", activation),
      written("classifier_activation", activation),
      epsilon("norm_eps", &ModelSettings::norm_epsilon, 1e-5),
      written("attention_bias", bias),
      written("mlp_bias", bias),
      written("norm_bias", bias),
      written("classifier_bias", bias),
      constant("decoder_bias", true),
      probability("embedding_dropout", &ModelSettings::dropout, 0),
      written("mlp_dropout", [](const ExportedConfig& c) { return c.settings.model.dropout; }),
      probability("attention_dropout", &AttentionSettings::dropout, 0),
      written("classifier_dropout",
              [](const ExportedConfig& c) { return classifier_settings(c.settings).head_dropout; }),
      written("classifier_pooling",
              [](const ExportedConfig& c) {
                return classifier_settings(c.settings).pooling == TextPooling::mean ? "mean"
                                                                                    : "cls";
              }),
      written("local_attention", layers([](const ModernBertLayers& l) { return l.window - 1; })),
      written("global_attn_every_n_layers", layers([](const ModernBertLayers& l) {
                return l.step() > 0 ? Json(l.step()) : left_out();
              })),
      written("global_rope_theta", layers([](const ModernBertLayers& l) { return l.full_base; })),
      written("local_rope_theta", layers([](const ModernBertLayers& l) { return l.window_base; })),
      written("layer_types", layers([](const ModernBertLayers& l) {
                Json types = Json::array();
                for (const bool full : l.full) types.push_back(full ? kFull : kSliding);
                return types;
              })),
      written("rope_parameters", layers([](const ModernBertLayers& l) {
                const auto rotation = [](double base) {
                  return Json{{"rope_type", "default"}, {"rope_theta", base}};
                };
                return Json{{kFull, rotation(l.full_base)}, {kSliding, rotation(l.window_base)}};
              })),
      written("cls_token_id", cls),
      written("bos_token_id", cls),
      written("sep_token_id", sep),
      written("eos_token_id", sep),
  };
}

void expect_modernbert(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  const TaskFacts& task = task_facts(settings.task);
  wishes.expect(task.exported != ExportForm::none, "it is no matcher of texts");
  layers_of(settings, wishes);
  wishes.expect(!model.first_norm,
                "its embedding's norm is the first layer's, too (model.first_norm false)");
  wishes.expect(
      is_gated(model.activation),
      "its feed-forward parts have a gate (model.activation geglu, geglu_tanh or swiglu)");
  wishes.expect(model.norm_kind == NormKind::layer_norm,
                "its norms are LayerNorm (model.norm_kind layer_norm)");
  wishes.expect(model.bias || !model.query_key_value_bias,
                "its queries have a bias only where all layers have (model.query_key_value_bias "
                "false)");
  wishes.expect(model.bias || !(model.attention_output_bias || model.feed_forward_bias),
                "its layers have biases only where all have (model.attention_output_bias and "
                "model.feed_forward_bias false)");
  expect_plain_heads(model, wishes);
  wishes.expect(!model.parallel_residual,
                "attention comes before the feed-forward part (model.parallel_residual false)");
  expect_plain_embedding(model, wishes);
  wishes.expect(model.embedding_scale == EmbeddingScale::none,
                "its embedding is not scaled (model.embedding_scale none)");
  wishes.expect(model.head == LanguageHeadKind::bert,
                "its language head is BERT's (model.head bert)");
  wishes.expect(task.exported != ExportForm::classifier ||
                    classifier_settings(settings).head == ClassifierHead::modernbert,
                "its classification head is glue.head modernbert");
}

void note_modernbert(const Settings& settings, std::vector<std::string>& notes) {
  if (layers_of(settings).step() == 0) {
    notes.push_back(
        "its layers without a window are not every n-th from the first: transformers 5 reads "
        "which they are, earlier releases cannot");
  }
  if (settings.model.dropout > 0 || settings.attention.dropout > 0) {
    notes.push_back(
        "its dropout has other places in transformers' ModernBERT, which matters when it is "
        "trained further there");
  }
}

}  // namespace

Family modernbert_family() {
  using enum Size;
  const Presence not_first = [](const Settings&, std::int64_t layer) { return layer > 0; };
  const std::vector<WeightRow> rows = {
      {"embeddings.tok_embeddings.weight", "embedding.tokens.weight", {vocabulary, width}},
      {"embeddings.norm", "embedding.norm", {width}},
  };
  const std::vector<WeightRow> classes = {
      {"head.dense", "head.dense", {width, width}},
      {"head.norm", "head.norm", {width}},
      // The head's last layer has a bias in every model.
      {"classifier.weight", "classifier.weight", {any, width}},
      {"classifier.bias", "classifier.bias", {any}},
  };
  const std::vector<WeightRow> layer = {
      {"attn_norm", "attention.norm", {width}, not_first},
      {"attn.Wqkv", "attention.query_key_value", {three_heads, width}},
      {"attn.Wo", "attention.output", {width, heads}},
      {"mlp_norm", "feed_forward.norm", {width}},
      {"mlp.Wi", "feed_forward.inner", {two_inner, width}},
      {"mlp.Wo", "feed_forward.outer", {width, inner}},
  };
  return {
      .type = "modernbert",
      .title = "ModernBERT",
      .classes = "ModernBert",
      .fields = encoder_fields({.vocabulary = 50368,
                                .layers = 22,
                                .feed_forward = 1152,
                                .positions = 8192,
                                .most_positions = 1 << 30},
                               tied_head(), modernbert_fields()),
      .parse = parse_modernbert,
      .prefix = "model.",
      .body = {.rows = rows,
               .layers = {{"layers.{}.", "layers.{}.", layer}},
               .last = {{"final_norm", "final_norm", {width}}}},
      .language_head =
          {.rows = {{"head.dense", "head.dense", {width, width}},
                    {"head.norm", "head.norm", {width}},
                    {"decoder.bias", "head.decoder.bias", {vocabulary}},
                    {"decoder.weight", "head.decoder.weight", {vocabulary, width}, has_own_output}},
           .twins = {{"decoder.weight", "embeddings.tok_embeddings.weight"}}},
      .classification_head = {classes},
      .tagging_head = {classes},
      .inside = {"encoder.", "embeddings", "layers.", "final_norm"},
      .rotates_halves = true,
      .one_head = true,
      .expect = expect_modernbert,
      // The length that its rotations claim to reach; they have no table.
      .least_positions = 8192,
      .note = note_modernbert,
  };
}

}  // namespace roformer
