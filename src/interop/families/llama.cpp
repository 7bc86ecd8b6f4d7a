// Llama (Touvron et al. 2023): pre-norm with RMSNorm, rope and a gate. Mistral (Jiang et al. 2023)
// has its layers, with a window; Qwen 2 and Qwen 3 do, too (qwen.cpp). Field names and defaults:
// transformers' configuration_llama.py and configuration_mistral.py.
#include <fmt/format.h>

#include <utility>

#include "config/schemes/rope.h"
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

ConfigField attention_bias_field() {
  return {.name = "attention_bias",
          .read =
              [](const JsonFields& fields, Settings& settings) {
                const bool biased = fields.flag("attention_bias", false);
                settings.model.query_key_value_bias = biased;
                settings.model.attention_output_bias = biased;
              },
          .write = [](const ExportedConfig& c) { return c.settings.model.attention_output_bias; }};
}

ConfigField window_field() {
  return {.name = "sliding_window",
          .read =
              [](const JsonFields& fields, Settings& settings) {
                const bool none =
                    fields.has("sliding_window") && fields.find("sliding_window") == nullptr;
                const std::int64_t window =
                    none ? 0 : fields.count("sliding_window", 4096, between(1, 1 << 20));
                settings.attention.window = window;  // texts may be longer than data.length
              },
          .write =
              [](const ExportedConfig& c) {
                const std::int64_t window = c.settings.attention.window;
                return window > 0 ? ConfigField::Json(window) : ConfigField::Json();
              }};
}

ConfigField key_value_heads_field(std::int64_t standard) {
  return {.name = "num_key_value_heads",
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                ModelSettings& model = settings.model;
                const std::int64_t shared = fields.count(
                    "num_key_value_heads", standard > 0 ? standard : model.heads, between(1, 1024));
                if (shared != model.heads) model.key_value_heads = shared;
                require_divisor(fields, "num_key_value_heads", shared, "num_attention_heads",
                                model.heads);
              },
          .write = [](const ExportedConfig& c) { return c.settings.model.heads_of_keys(); }};
}

ConfigField head_width_field(std::int64_t standard) {
  return {.name = "head_dim",
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                ModelSettings& model = settings.model;
                const std::int64_t even =
                    model.width % model.heads == 0 ? model.width / model.heads : 0;
                const std::int64_t width =
                    fields.count("head_dim", standard > 0 ? standard : even, between(1, 65536));
                if (width != even) model.head_width = width;
              },
          .write = [](const ExportedConfig& c) { return c.settings.model.features_of_head(); }};
}

void expect_llama(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  const bool biased = model.query_key_value_bias, outer = model.attention_output_bias;
  const bool windowed = settings.attention.window > 0;
  const bool qwen2 = biased && !outer && !model.query_key_norm;
  expect_causal(settings, wishes,
                {.window = !biased && !outer && !model.query_key_norm && !model.feed_forward_bias});
  expect_rotary(settings, wishes);
  wishes.expect(is_gated(model.activation),
                "Llama has a gate (model.activation swiglu, geglu or geglu_tanh)");
  wishes.expect(!model.parallel_residual,
                "Llama's sub-layers follow one another (model.parallel_residual false)");
  wishes.expect(!(biased && model.query_key_norm) || outer,
                "where queries have a bias and a norm (Qwen 3), attention's output has a bias, too "
                "(model.attention_output_bias true)");
  wishes.expect(!outer || biased,
                "attention's output has a bias only where queries, keys and values have one "
                "(model.query_key_value_bias true)");
  wishes.expect(!model.feed_forward_bias || !(qwen2 || model.query_key_norm || windowed),
                "only Llama's feed-forward part can have biases (model.feed_forward_bias)");
  const bool wide = model.features_of_head() * model.heads != model.width;
  wishes.expect(!(qwen2 && wide), "Qwen 2's heads share the width (model.head_width 0)");
  if (settings.position.scheme == "rope") {
    wishes.expect(settings.position.of<RopeSettings>().fraction == 1,
                  "Llama rotates whole heads (position.rope.fraction 1)");
  }
}

}  // namespace

Family llama_like(const LlamaVariant& variant) {
  using enum Size;
  const Presence normed = [](const Settings& settings, std::int64_t) {
    return settings.model.query_key_norm;
  };
  std::vector<ConfigField> own = {gate("hidden_act", ActivationKind::swiglu),
                                  epsilon("rms_norm_eps", &ModelSettings::norm_epsilon, 1e-6),
                                  key_value_heads_field(variant.key_value_heads)};
  if (variant.own_head_width) own.push_back(head_width_field(variant.head_width));
  if (variant.attention_bias) own.push_back(attention_bias_field());
  if (variant.feed_forward_bias) {
    own.push_back(flag("mlp_bias", &ModelSettings::feed_forward_bias, false));
  }
  if (variant.window) own.push_back(window_field());
  const std::vector<WeightRow> layer = {
      {"input_layernorm", "attention.norm", {width}},
      {"post_attention_layernorm", "feed_forward.norm", {width}},
      {"self_attn.[q_proj|k_proj|v_proj]", "attention.query_key_value", {heads, width}},
      {"self_attn.q_norm.weight", "attention.query_norm.weight", {head}, normed},
      {"self_attn.k_norm.weight", "attention.key_norm.weight", {head}, normed},
      {"self_attn.o_proj", "attention.output", {width, heads}},
      {"mlp.[gate_proj|up_proj]", "feed_forward.inner", {inner, width}},
      {"mlp.down_proj", "feed_forward.outer", {width, inner}},
  };
  return {
      .type = variant.type,
      .title = variant.title,
      .classes = variant.classes,
      .kind = FamilyKind::causal,
      .fields = rotary_fields(variant.defaults, own),
      .parse =
          [variant](const JsonFields& fields, FolderConfig& config) {
            refuse_other_models(fields, config);
            for (const auto& [name, known] : {std::pair("attention_bias", variant.attention_bias),
                                              std::pair("mlp_bias", variant.feed_forward_bias)}) {
              if (known) continue;
              require_flag(fields, name, false, false, "false: models of its type have none");
            }
            require_flag(fields, "use_sliding_window", false, false,
                         "false: every layer sees the whole text");
            if (const nlohmann::json* types = fields.find("layer_types")) {
              for (const nlohmann::json& type : *types) {
                if (type == "full_attention") continue;
                fields.refuse("layer_types", "full_attention in every layer");
              }
            }
            ModelSettings& model = config.settings.model;
            model.norm_kind = NormKind::rms_norm;
            model.bias = false;
            model.dropout = 0;
            model.query_key_value_bias = variant.query_key_value_bias;
            model.query_key_norm = variant.query_key_norm;
            parse_rotary(fields, {}, config);
          },
      .prefix = "model.",
      .body = {.rows = {{"embed_tokens.weight", "embedding.tokens.weight", {vocabulary, width}}},
               .layers = {{"layers.{}.", "layers.{}.", layer}},
               .last = {{"norm", "final_norm", {width}}}},
      .language_head = projection_head("lm_head.weight", "embed_tokens.weight"),
      .ignored_endings = {".rotary_emb.inv_freq"},  // stored by releases before 2023
      .inside = {"layers.", "embed"},
      .rotates_halves = true,
      .expect = expect_llama,
      .note =
          [](const Settings& settings, std::vector<std::string>& notes) {
            if (settings.model.dropout == 0) return;
            notes.push_back(fmt::format("its dropout in training, {}, has no field in config.json",
                                        settings.model.dropout));
          },
  };
}

Family llama_family() {
  return llama_like({.type = "llama",
                     .title = "Llama",
                     .classes = "Llama",
                     .attention_bias = true,
                     .feed_forward_bias = true});
}

Family mistral_family() {
  return llama_like({.type = "mistral",
                     .title = "Mistral",
                     .classes = "Mistral",
                     .key_value_heads = 8,
                     .window = true,
                     .defaults = {.feed_forward = 14336, .positions = 4096 * 32}});
}

}  // namespace roformer
