// GPT-NeoX (Black et al. 2022): pre-norm with LayerNorm and biases, both sub-layers of a layer in
// parallel, and rope on a part of each head. Field names and defaults: transformers'
// configuration_gpt_neox.py.
#include "config/schemes/rope.h"
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {

Family gpt_neox_family() {
  using enum Size;
  using enum WeightOrder;
  const auto untied = [](const Settings& settings, std::int64_t) {
    return !settings.model.tie_output;
  };
  const auto rope = [](double RopeSettings::*member) {
    return [=](const ExportedConfig& c) { return c.settings.position.of<RopeSettings>().*member; };
  };
  return {
      .type = "gpt_neox",
      .title = "GPT-NeoX",
      .classes = "GPTNeoX",
      .kind = FamilyKind::causal,
      .fields = causal_fields(
          {.vocabulary = 50432, .width = 6144, .layers = 44, .heads = 64, .feed_forward = 24576},
          {activation("hidden_act"), probability("hidden_dropout", &ModelSettings::dropout, 0),
           epsilon("layer_norm_eps", &ModelSettings::norm_epsilon, 1e-5),
           flag("use_parallel_residual", &ModelSettings::parallel_residual, true),
           written("rotary_pct", rope(&RopeSettings::fraction)),
           written("rotary_emb_base", rope(&RopeSettings::base))}),
      .parse =
          [](const Family& family, const JsonFields& fields, const JsonFields&,
             FolderConfig& config) {
            refuse_other_models(family, fields);
            require_flag(fields, "attention_bias", true, true,
                         "true: its other layers have biases");
            parse_causal(family, fields,
                         {.base = fields.number("rotary_emb_base", 10000, between(1, 1e12)),
                          .fraction = fields.number("rotary_pct", 0.25, between(0, 1)),
                          .partial = true},
                         config);
          },
      .prefix = "gpt_neox.",
      .body = {{
          {"embed_in.weight", "embedding.tokens.weight", {vocabulary, width}},
          {"layers.{}.input_layernorm", "layers.{}.attention.norm", {width}},
          {"layers.{}.post_attention_layernorm", "layers.{}.feed_forward.norm", {width}},
          {"layers.{}.attention.query_key_value",
           "layers.{}.attention.query_key_value",
           {three_heads, width},
           per_head},
          {"layers.{}.attention.dense", "layers.{}.attention.output", {width, heads}},
          {"layers.{}.mlp.dense_h_to_4h", "layers.{}.feed_forward.inner", {inner, width}},
          {"layers.{}.mlp.dense_4h_to_h", "layers.{}.feed_forward.outer", {width, inner}},
          {"final_layer_norm", "final_norm", {width}},
      }},
      .language_head =
          {{{"embed_out.weight", "head.decoder.weight", {vocabulary, width}, plain, untied}},
           {{"embed_out.weight", "embed_in.weight", "embedding.tokens.weight"}}},
      // Masks and frequencies of releases before 2023.
      .ignored_endings = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
      .inside = {"layers.", "embed"},
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            const ModelSettings& model = settings.model;
            expect_causal(settings, wishes);
            wishes.expect(model.bias, "GPT-NeoX's layers have biases (model.bias true)");
            wishes.expect(!is_gated(model.activation), "GPT-NeoX has no gate (model.activation)");
            wishes.expect(model.heads_of_keys() == model.heads,
                          "GPT-NeoX's heads have their own keys and values "
                          "(model.key_value_heads 0)");
            wishes.expect(model.features_of_head() * model.heads == model.width,
                          "GPT-NeoX's heads share the width (model.head_width 0)");
            wishes.expect(!model.query_key_norm,
                          "GPT-NeoX has no norm of queries (model.query_key_norm)");
          },
  };
}

}  // namespace roformer
