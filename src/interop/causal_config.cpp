#include "interop/causal_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "config/schemes/rope.h"
#include "interop/activation_names.h"
#include "interop/config_fields.h"
#include "interop/rope_fields.h"

namespace roformer {
namespace {

using nlohmann::json;

struct CausalFamilyNames {
  std::string_view type, name, architecture;
};
// In the order of CausalFamily.
constexpr std::array kCausalFamilies = {
    CausalFamilyNames{"llama", "Llama", "LlamaForCausalLM"},
    CausalFamilyNames{"qwen2", "Qwen 2", "Qwen2ForCausalLM"},
    CausalFamilyNames{"qwen3", "Qwen 3", "Qwen3ForCausalLM"},
    CausalFamilyNames{"gpt_neox", "GPT-NeoX", "GPTNeoXForCausalLM"}};

const CausalFamilyNames& names_of(CausalFamily family) {
  return kCausalFamilies[static_cast<std::size_t>(family)];
}

CausalFamily parse_causal_family(const ConfigFields& fields) {
  const std::string type = fields.text("model_type", "");
  for (std::size_t i = 0; i < kCausalFamilies.size(); ++i) {
    if (type == kCausalFamilies[i].type) return static_cast<CausalFamily>(i);
  }
  fields.refuse("model_type", "llama, qwen2, qwen3 or gpt_neox");
}

// A class with another head on the same layers is told by its name, before its head is missed.
void refuse_other_heads(const ConfigFields& fields, CausalFamily family) {
  const json* const names = fields.find("architectures");
  if (names == nullptr || !names->is_array() || names->empty()) return;
  const bool language = std::ranges::any_of(*names, [](const json& name) {
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    return text.ends_with("ForCausalLM") || text.ends_with("Model");  // the latter: without a head
  });
  if (language) return;
  const json& named = names->front();
  fields.refuse(
      "architectures",
      fmt::format("{}, not {}: of these models only language models are read",
                  names_of(family).architecture,
                  printable(named.is_string() ? named.get<std::string>() : named.dump())));
}

// What changes the computation and has no counterpart here.
void refuse_other_causal(const ConfigFields& fields, CausalFamily family) {
  if (fields.find("quantization_config") != nullptr) {
    fields.refuse("quantization_config", "weights that are not quantised");
  }
  if (family == CausalFamily::gpt_neox) {
    if (!fields.flag("attention_bias", true)) {
      fields.refuse("attention_bias", "true: its other layers have biases");
    }
    return;
  }
  for (const char* name : {"attention_bias", "mlp_bias"}) {
    if (fields.flag(name, false)) fields.refuse(name, "false: no such biases");
  }
  if (fields.flag("use_sliding_window", false)) {
    fields.refuse("use_sliding_window", "false: every layer sees the whole text");
  }
  const json* types = fields.find("layer_types");
  if (types == nullptr) return;
  for (const json& type : *types) {
    if (type != "full_attention") fields.refuse("layer_types", "full_attention in every layer");
  }
}

ActivationKind parse_gate(const ConfigFields& fields) {
  const std::string name = fields.text("hidden_act", "silu");
  if (name == "silu" || name == "swish") return ActivationKind::swiglu;
  if (name == "gelu") return ActivationKind::geglu;
  fields.refuse("hidden_act", "silu or gelu");
}

// Of the families that have RMSNorm.
void parse_llama_blocks(const ConfigFields& fields, CausalFamily family, ModelSettings& model) {
  model.norm_kind = NormKind::rms_norm;
  model.bias = false;
  model.query_key_value_bias = family == CausalFamily::qwen2;
  model.query_key_norm = family == CausalFamily::qwen3;
  model.activation = parse_gate(fields);
  model.norm_epsilon = fields.small_number("rms_norm_eps", 1e-6);
  model.dropout = 0;
  const bool of_llama = family == CausalFamily::llama;
  const std::int64_t shared =
      fields.count("num_key_value_heads", of_llama ? model.heads : 32, 1, 1024);
  if (shared != model.heads) model.key_value_heads = shared;
  if (model.heads % shared != 0) {
    fields.refuse("num_key_value_heads",
                  fmt::format("a divisor of \"num_attention_heads\", {}", model.heads));
  }
  if (family == CausalFamily::qwen2) return;
  const bool divides = model.width % model.heads == 0;
  const std::int64_t standard = family == CausalFamily::qwen3 ? 128
                                : divides                     ? model.width / model.heads
                                                              : 0;
  const std::int64_t width = fields.count("head_dim", standard, 1, 65536);
  if (!divides || width != model.width / model.heads) model.head_width = width;
}

ModelSettings parse_causal_model(const ConfigFields& fields, CausalFamily family) {
  const bool neox = family == CausalFamily::gpt_neox;
  ModelSettings model{
      .layers = fields.count("num_hidden_layers", neox ? 44 : 32, 1, 1000),
      .width = fields.count("hidden_size", neox ? 6144 : 4096, 1, 65536),
      .heads = fields.count("num_attention_heads", neox ? 64 : 32, 1, 1024),
      .feed_forward = fields.count("intermediate_size", neox ? 24576 : 11008, 1, 1 << 20),
      .vocabulary = fields.count("vocab_size", neox ? 50432 : 32000, 1, 1 << 24),
      .norm = NormPlacement::pre,
      .head = LanguageHeadKind::linear,
      .tie_output = fields.flag("tie_word_embeddings", false),
      .initialization = fields.small_number("initializer_range", 0.02)};
  if (neox) {
    model.activation = parse_activation(fields, "hidden_act");
    model.norm_epsilon = fields.small_number("layer_norm_eps", 1e-5);
    model.dropout = fields.probability("hidden_dropout", 0);
    model.parallel_residual = fields.flag("use_parallel_residual", true);
  } else {
    parse_llama_blocks(fields, family, model);
  }
  if (model.head_width == 0 && model.width % model.heads != 0) {
    fields.refuse("num_attention_heads",
                  fmt::format("a divisor of \"hidden_size\", {}", model.width));
  }
  return model;
}

}  // namespace

std::string_view causal_family_name(CausalFamily family) {
  return names_of(family).name;
}

std::string_view causal_architecture(CausalFamily family) {
  return names_of(family).architecture;
}

bool is_causal_type(std::string_view model_type) {
  return std::any_of(kCausalFamilies.begin(), kCausalFamilies.end(),
                     [&](const CausalFamilyNames& names) { return names.type == model_type; });
}

CausalConfig parse_causal_config(std::string_view text, const std::string& file) {
  const json document = parse_json(text, file);
  if (!document.is_object()) throw_failure(file, "is not a JSON object");
  const ConfigFields fields(document, file);
  CausalConfig config{.family = parse_causal_family(fields)};
  refuse_other_heads(fields, config.family);
  refuse_other_causal(fields, config.family);
  const bool neox = config.family == CausalFamily::gpt_neox;
  Settings& settings = config.settings;
  settings.task = TaskKind::causal_lm;
  settings.model = parse_causal_model(fields, config.family);
  settings.attention.dropout = fields.probability("attention_dropout", 0);
  const bool qwen = config.family == CausalFamily::qwen2 || config.family == CausalFamily::qwen3;
  settings.data.length =
      fields.count("max_position_embeddings", qwen ? 32768 : 2048, 1, std::int64_t{1} << 30);
  settings.position.scheme = "rope";
  RopeSettings& rope = settings.position.of<RopeSettings>();
  rope = parse_rope(fields, file,
                    {.max_positions = settings.data.length,
                     .base = neox ? fields.number("rotary_emb_base", 10000, 1, 1e12) : 10000,
                     .fraction = neox ? fields.number("rotary_pct", 0.25, 0, 1) : 1,
                     .partial = neox});
  const std::int64_t share = rotary_share(rope.fraction, settings.model.features_of_head());
  if (share < 2 || share % 2 != 0) {
    throw_failure(file,
                  fmt::format("rotates {} of the {} features of a head, wanted an even number "
                              "of at least 2",
                              share, settings.model.features_of_head()));
  }
  const auto lists = {&rope.short_factor, &rope.long_factor};
  for (const std::vector<double>* list : lists) {
    if (list->empty() || static_cast<std::int64_t>(list->size()) == share / 2) continue;
    throw_failure(file, fmt::format("has {} factors of longrope for {} pairs of features",
                                    list->size(), share / 2));
  }
  return config;
}

nlohmann::ordered_json to_causal_config(const ExportedCausalConfig& config) {
  const Settings& settings = config.settings;
  const ModelSettings& model = settings.model;
  const RopeSettings& rope = settings.position.of<RopeSettings>();
  const auto id = [](std::int64_t value) { return value < 0 ? json() : json(value); };
  const json ends = config.ends.size() == 1 ? json(config.ends.front())
                    : config.ends.empty()   ? json()
                                            : json(config.ends);
  nlohmann::ordered_json document = {
      {"architectures", {causal_architecture(config.family)}},
      {"model_type", names_of(config.family).type},
      {"vocab_size", model.vocabulary},
      {"hidden_size", model.width},
      {"num_hidden_layers", model.layers},
      {"num_attention_heads", model.heads},
      {"intermediate_size", model.feed_forward},
      {"max_position_embeddings",
       rope.scaling == RopeScaling::dynamic_ntk ? rope.original_length : settings.data.length},
      {"initializer_range", model.initialization},
      {"attention_dropout", settings.attention.dropout},
      {"tie_word_embeddings", model.tie_output},
      {"bos_token_id", nullptr},
      {"eos_token_id", ends},
      {"pad_token_id", id(config.padding)},
      {"torch_dtype", "float32"},
  };
  if (config.family == CausalFamily::gpt_neox) {
    document["hidden_act"] = activation_name(model.activation);
    document["hidden_dropout"] = model.dropout;
    document["layer_norm_eps"] = model.norm_epsilon;
    document["use_parallel_residual"] = model.parallel_residual;
    document["rotary_pct"] = rope.fraction;
    document["rotary_emb_base"] = rope.base;
  } else {
    document["hidden_act"] = model.activation == ActivationKind::swiglu ? "silu" : "gelu";
    document["rms_norm_eps"] = model.norm_epsilon;
    document["num_key_value_heads"] = model.heads_of_keys();
    if (config.family != CausalFamily::qwen2) document["head_dim"] = model.features_of_head();
  }
  add_rope(rope, document);
  return document;
}

}  // namespace roformer
