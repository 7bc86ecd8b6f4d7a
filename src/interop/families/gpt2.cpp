// GPT-2 (Radford et al. 2019): pre-norm with LayerNorm and biases, a learned table of positions,
// and linear layers whose weights are stored transposed. Field names and defaults: transformers'
// configuration_gpt2.py.
#include <fmt/format.h>

#include "config/schemes/learned.h"
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

const CausalNames kGpt2Names = {.heads = "n_head", .width = "n_embd"};

// Null: four times the width.
ConfigField inner_field() {
  return {.name = "n_inner",
          .read =
              [](const JsonFields& fields, Settings& settings) {
                settings.model.feed_forward =
                    fields.count("n_inner", 4 * settings.model.width, between(1, 1 << 20));
              },
          .write = [](const ExportedConfig& c) { return c.settings.model.feed_forward; }};
}

void parse_gpt2(const JsonFields& fields, FolderConfig& config) {
  refuse_other_models(fields, config);
  require_flag(fields, "scale_attn_weights", true, true,
               "true: scores are divided by the square root of a head's width");
  require_flag(fields, "scale_attn_by_inverse_layer_idx", false, false,
               "false: all layers scale their scores alike");
  require_flag(fields, "add_cross_attention", false, false, "false: there is no encoder");
  Settings& settings = config.settings;
  parse_causal(fields, config, kGpt2Names);
  settings.position.scheme = "learned";
  settings.position.of<LearnedSettings>().length = settings.data.length;
  const double embedding = fields.number("embd_pdrop", 0.1, below_one());
  if (embedding != settings.model.dropout) {
    config.notes.push_back(fmt::format(
        "its dropout in training is {} after the embedding and {} in the layers; here it is {} in "
        "both places (model.dropout)",
        embedding, settings.model.dropout, settings.model.dropout));
  }
}

void expect_gpt2(const Settings& settings, Wishes& wishes) {
  expect_causal(settings, wishes);
  expect_gpt_layers(settings, "GPT-2's", wishes);
  wishes.expect(settings.model.bias, "GPT-2's layers have biases (model.bias true)");
  wishes.expect(!settings.position.of<LearnedSettings>().hierarchical,
                "GPT-2's table of positions is not hierarchical (position.learned.hierarchical)");
}

std::vector<ConfigField> gpt2_fields() {
  return causal_fields(
      {count("vocab_size", &ModelSettings::vocabulary, 50257, between(1, 1 << 24)),
       count("n_embd", &ModelSettings::width, 768, between(1, 65536), "hidden_size"),
       count("n_layer", &ModelSettings::layers, 12, between(1, 1000), "num_hidden_layers"),
       count("n_head", &ModelSettings::heads, 12, between(1, 1024), "num_attention_heads"),
       inner_field(), positions(1024, 1 << 20, "n_positions", "max_position_embeddings")},
      /*tied=*/true,
      {activation("activation_function", ActivationKind::gelu_tanh),
       probability("resid_pdrop", &ModelSettings::dropout, 0.1),
       written("embd_pdrop", [](const ExportedConfig& c) { return c.settings.model.dropout; }),
       probability("attn_pdrop", &AttentionSettings::dropout, 0.1),
       epsilon("layer_norm_epsilon", &ModelSettings::norm_epsilon, 1e-5)});
}

}  // namespace

Family gpt2_family() {
  using enum Size;
  // Conv1D stores [in, out].
  const auto turned = [](Size rows, Size columns) {
    return WeightShape{.rows = rows, .columns = columns, .transposed = true};
  };
  const std::vector<WeightRow> layer = {
      {"ln_1", "attention.norm", {width}},
      {"attn.c_attn", "attention.query_key_value", turned(three_heads, width)},
      {"attn.c_proj", "attention.output", turned(width, heads)},
      {"ln_2", "feed_forward.norm", {width}},
      {"mlp.c_fc", "feed_forward.inner", turned(inner, width)},
      {"mlp.c_proj", "feed_forward.outer", turned(width, inner)},
  };
  return {
      .type = "gpt2",
      .title = "GPT-2",
      .classes = "GPT2",
      .kind = FamilyKind::causal,
      .language_class = "LMHeadModel",
      .fields = gpt2_fields(),
      .parse = parse_gpt2,
      .prefix = "transformer.",
      .body = {.rows = {{"wte.weight", "embedding.tokens.weight", {vocabulary, width}},
                        {"wpe.weight", "position.table", {Size::positions, width}}},
               .layers = {{"h.{}.", "layers.{}.", layer}},
               .last = {{"ln_f", "final_norm", {width}}}},
      .language_head = projection_head("lm_head.weight", "wte.weight"),
      .ignored_endings = {".attn.bias", ".attn.masked_bias"},  // masks of older releases
      .inside = {"h.", "wte", "wpe"},
      .expect = expect_gpt2,
  };
}

}  // namespace roformer
