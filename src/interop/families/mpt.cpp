// MPT (MosaicML 2023): pre-norm with LayerNorm, no biases, and ALiBi. Field names and defaults:
// transformers' configuration_mpt.py. What transformers' MPT does not compute is refused, because
// models with it compute something else in the program that they come from.
#include <fmt/format.h>

#include <cmath>

#include "config/schemes/alibi.h"
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

const CausalNames kMptNames = {.heads = "n_heads", .width = "d_model"};

void require_null(const JsonFields& fields, const char* name, const char* why) {
  if (fields.find(name) != nullptr) fields.refuse(name, why);
}

void require_word(const JsonFields& fields, const char* name, const char* wanted) {
  if (fields.text(name, wanted) != wanted) fields.refuse(name, wanted);
}

void require_plain_attention(const JsonFields& fields, const ModelSettings& model) {
  require_word(fields, "attn_type", "multihead_attention");
  require_null(fields, "clip_qkv", "null: queries, keys and values are not clipped");
  require_flag(fields, "alibi", true, true, "true: positions are ALiBi");
  require_flag(fields, "qk_ln", false, false, "false: queries and keys have no norm");
  require_flag(fields, "prefix_lm", false, false, "false: every token sees the text before it");
  require_flag(fields, "attn_uses_sequence_id", false, false,
               "false: every token sees the text before it");
  require_flag(fields, "rope", false, false, "false: positions are ALiBi");
  if (fields.count("sliding_window_size", -1) != -1) {
    fields.refuse("sliding_window_size", "-1: every token sees the whole text before it");
  }
  if (fields.number("alibi_bias_max", 8) != 8) {
    fields.refuse("alibi_bias_max", "8, which gives the slopes of the paper");
  }
  if (fields.find("softmax_scale") == nullptr) return;
  const double usual = 1 / std::sqrt(static_cast<double>(model.features_of_head()));
  if (std::abs(fields.number("softmax_scale") - usual) > 1e-6 * usual) {
    fields.refuse("softmax_scale", "null: scores are divided by the square root of a head's width");
  }
}

void parse_mpt(const JsonFields& fields, FolderConfig& config) {
  refuse_other_models(fields, config);
  require_flag(fields, "no_bias", true, true, "true: its layers have no biases");
  require_null(fields, "logit_scale", "null: logits are not scaled");
  if (fields.count("expansion_ratio", 4) != 4) {
    fields.refuse("expansion_ratio", "4, as in transformers' MPT");
  }
  if (!fields.text("norm_type", "low_precision_layernorm").ends_with("layernorm")) {
    fields.refuse("norm_type", "layernorm or low_precision_layernorm");
  }
  Settings& settings = config.settings;
  ModelSettings& model = settings.model;
  model.bias = false;
  model.activation = ActivationKind::gelu;
  parse_causal(fields, config, kMptNames);
  model.feed_forward = 4 * model.width;
  settings.position.scheme = "alibi";
  settings.position.of<AlibiSettings>().variant = AlibiVariant::causal;
  settings.attention.dropout = 0;
  if (fields.find("attn_config") != nullptr) {
    const JsonFields attention = fields.object("attn_config");
    require_plain_attention(attention, model);
    settings.attention.dropout = attention.number("attn_pdrop", 0, below_one());
  }
}

void expect_mpt(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  expect_causal(settings, wishes);
  expect_gpt_layers(settings, "MPT's", wishes);
  expect_causal_alibi(settings, wishes);
  wishes.expect(!model.bias && !model.query_key_value_bias && !model.attention_output_bias &&
                    !model.feed_forward_bias,
                "MPT's layers have no biases (model.bias, model.query_key_value_bias, "
                "model.attention_output_bias, model.feed_forward_bias)");
  wishes.expect(model.activation == ActivationKind::gelu,
                "MPT's activation is gelu (model.activation)");
  wishes.expect(model.feed_forward == 4 * model.width,
                "MPT's feed-forward part is four times as wide as the model (model.feed_forward)");
}

std::vector<ConfigField> mpt_fields() {
  using Json = ConfigField::Json;
  return causal_fields(
      {count("vocab_size", &ModelSettings::vocabulary, 50368, between(1, 1 << 24)),
       count("d_model", &ModelSettings::width, 2048, between(1, 65536), "hidden_size"),
       count("n_layers", &ModelSettings::layers, 24, between(1, 1000), "num_hidden_layers"),
       count("n_heads", &ModelSettings::heads, 16, between(1, 1024), "num_attention_heads"),
       positions(2048, 1 << 20, "max_seq_len")},
      /*tied=*/true,
      {constant("expansion_ratio", 4), constant("no_bias", true),
       constant("learned_pos_emb", false),
       epsilon("layer_norm_epsilon", &ModelSettings::norm_epsilon, 1e-5),
       probability("resid_pdrop", &ModelSettings::dropout, 0),
       written("emb_pdrop", [](const ExportedConfig& c) { return c.settings.model.dropout; }),
       // transformers 5 accepts only a whole number as attn_pdrop.
       constant("attn_config", Json{{"attn_type", "multihead_attention"},
                                    {"attn_pdrop", 0},
                                    {"clip_qkv", nullptr},
                                    {"alibi", true},
                                    {"alibi_bias_max", 8}})});
}

}  // namespace

Family mpt_family() {
  using enum Size;
  const std::vector<WeightRow> layer = {
      {"norm_1", "attention.norm", {width}},
      {"attn.Wqkv", "attention.query_key_value", {three_heads, width}},
      {"attn.out_proj", "attention.output", {width, heads}},
      {"norm_2", "feed_forward.norm", {width}},
      {"ffn.up_proj", "feed_forward.inner", {inner, width}},
      {"ffn.down_proj", "feed_forward.outer", {width, inner}},
  };
  return {
      .type = "mpt",
      .title = "MPT",
      .classes = "Mpt",
      .kind = FamilyKind::causal,
      .fields = mpt_fields(),
      .parse = parse_mpt,
      .prefix = "transformer.",
      .body = {.rows = {{"wte.weight", "embedding.tokens.weight", {vocabulary, width}}},
               .layers = {{"blocks.{}.", "layers.{}.", layer}},
               .last = {{"norm_f", "final_norm", {width}}}},
      .language_head = projection_head("lm_head.weight", "wte.weight"),
      .inside = {"blocks.", "wte", "wpe"},
      .expect = expect_mpt,
      .note =
          [](const Settings& settings, std::vector<std::string>& notes) {
            notes.push_back(fmt::format(
                "transformers' MPT reads no text longer than max_seq_len, {} (data.length)",
                settings.data.length));
            if (settings.model.dropout == 0 && settings.attention.dropout == 0) return;
            notes.push_back(fmt::format(
                "transformers' MPT has no dropout in training; here model.dropout is {}, "
                "attention.dropout {}",
                settings.model.dropout, settings.attention.dropout));
          },
  };
}

}  // namespace roformer
