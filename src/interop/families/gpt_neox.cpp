// GPT-NeoX (Black et al. 2022): pre-norm with LayerNorm and biases, both sub-layers of a layer in
// parallel, and rope on a part of each head. Field names and defaults: transformers'
// configuration_gpt_neox.py.
#include "config/schemes/rope.h"
#include "interop/expressible.h"
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {

Family gpt_neox_family() {
  using enum Size;
  const auto rope = [](double RopeSettings::*member) {
    return [=](const ExportedConfig& c) { return c.settings.position.of<RopeSettings>().*member; };
  };
  const std::vector<WeightRow> layer = {
      {"input_layernorm", "attention.norm", {width}},
      {"post_attention_layernorm", "feed_forward.norm", {width}},
      {"attention.query_key_value", "attention.query_key_value", {by_head, width}},
      {"attention.dense", "attention.output", {width, heads}},
      {"mlp.dense_h_to_4h", "feed_forward.inner", {inner, width}},
      {"mlp.dense_4h_to_h", "feed_forward.outer", {width, inner}},
  };
  return {
      .type = "gpt_neox",
      .title = "GPT-NeoX",
      .classes = "GPTNeoX",
      .kind = FamilyKind::causal,
      .fields = rotary_fields(
          {.vocabulary = 50432, .width = 6144, .layers = 44, .heads = 64, .feed_forward = 24576},
          {activation("hidden_act"), probability("hidden_dropout", &ModelSettings::dropout, 0),
           epsilon("layer_norm_eps", &ModelSettings::norm_epsilon, 1e-5),
           flag("use_parallel_residual", &ModelSettings::parallel_residual, true),
           written("rotary_pct", rope(&RopeSettings::fraction)),
           written("rotary_emb_base", rope(&RopeSettings::base))}),
      .parse =
          [](const JsonFields& fields, FolderConfig& config) {
            refuse_other_models(fields, config);
            require_flag(fields, "attention_bias", true, true,
                         "true: its other layers have biases");
            parse_rotary(fields,
                         {.base = fields.number("rotary_emb_base", 10000, between(1, 1e12)),
                          .fraction = fields.number("rotary_pct", 0.25, between(0, 1)),
                          .partial = true},
                         config);
          },
      .prefix = "gpt_neox.",
      .body = {.rows = {{"embed_in.weight", "embedding.tokens.weight", {vocabulary, width}}},
               .layers = {{"layers.{}.", "layers.{}.", layer}},
               .last = {{"final_layer_norm", "final_norm", {width}}}},
      .language_head = projection_head("embed_out.weight", "embed_in.weight"),
      // Masks and frequencies that releases before 2023 stored.
      .ignored_endings = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
      .inside = {"layers.", "embed"},
      .rotates_halves = true,
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            const ModelSettings& model = settings.model;
            expect_causal(settings, wishes);
            expect_rotary(settings, wishes);
            wishes.expect(model.bias, "GPT-NeoX's layers have biases (model.bias true)");
            wishes.expect(!is_gated(model.activation), "GPT-NeoX has no gate (model.activation)");
            expect_plain_heads(model, wishes);
          },
  };
}

}  // namespace roformer
