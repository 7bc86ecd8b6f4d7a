// BLOOM (Le Scao et al. 2022): pre-norm with LayerNorm and biases, a norm of the embedding, and
// ALiBi. Field names and defaults: transformers' configuration_bloom.py.
#include "config/schemes/alibi.h"
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

const std::string kBloomHeads = "n_head", kOlderBloomHeads = "num_attention_heads";

void parse_bloom(const JsonFields& fields, FolderConfig& config) {
  refuse_other_models(fields, config);
  require_flag(fields, "apply_residual_connection_post_layernorm", false, false,
               "false: sums are of the layers' inputs, not of their norms");
  Settings& settings = config.settings;
  ModelSettings& model = settings.model;
  model.embedding_norm = true;
  model.activation = ActivationKind::gelu_tanh;
  parse_causal(fields, config,
               {.heads = name_in_file(fields, kBloomHeads, kOlderBloomHeads),
                .width = name_in_file(fields, "n_embed", "hidden_size")});
  model.feed_forward = 4 * model.width;
  settings.position.scheme = "alibi";
  settings.position.of<AlibiSettings>().variant = AlibiVariant::causal;
  if (model.dropout == 0) return;
  config.notes.push_back(
      "in training it has no dropout after the embedding; here it has (model.dropout)");
}

void expect_bloom(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  expect_causal(settings, wishes, {.embedding_norm = true});
  expect_gpt_layers(settings, "BLOOM's", wishes);
  expect_causal_alibi(settings, wishes);
  wishes.expect(model.bias, "BLOOM's layers have biases (model.bias true)");
  wishes.expect(model.embedding_norm, "BLOOM's embedding has a norm (model.embedding_norm true)");
  wishes.expect(model.activation == ActivationKind::gelu_tanh,
                "BLOOM's activation is gelu_tanh (model.activation)");
  wishes.expect(model.feed_forward == 4 * model.width,
                "BLOOM's feed-forward part is four times as wide as the model "
                "(model.feed_forward)");
}

std::vector<ConfigField> bloom_fields() {
  return causal_fields(
      {count("vocab_size", &ModelSettings::vocabulary, 250880, between(1, 1 << 24)),
       // n_embed, an older name, takes precedence.
       setting("hidden_size", &ModelSettings::width,
               [](const JsonFields& fields, const std::string& name) {
                 return fields.count(name_in_file(fields, "n_embed", name), 64, between(1, 65536));
               }),
       count("n_layer", &ModelSettings::layers, 2, between(1, 1000), "num_hidden_layers"),
       count(kBloomHeads, &ModelSettings::heads, 8, between(1, 1024), kOlderBloomHeads),
       // transformers has no such field; the first files name the length of the training.
       positions(2048, 1 << 20, "seq_length")},
      /*tied=*/true,
      {probability("hidden_dropout", &ModelSettings::dropout, 0),
       probability("attention_dropout", &AttentionSettings::dropout, 0),
       epsilon("layer_norm_epsilon", &ModelSettings::norm_epsilon, 1e-5)});
}

}  // namespace

Family bloom_family() {
  using enum Size;
  const std::vector<WeightRow> layer = {
      {"input_layernorm", "attention.norm", {width}},
      {"self_attention.query_key_value", "attention.query_key_value", {by_head, width}},
      {"self_attention.dense", "attention.output", {width, heads}},
      {"post_attention_layernorm", "feed_forward.norm", {width}},
      {"mlp.dense_h_to_4h", "feed_forward.inner", {inner, width}},
      {"mlp.dense_4h_to_h", "feed_forward.outer", {width, inner}},
  };
  return {
      .type = "bloom",
      .title = "BLOOM",
      .classes = "Bloom",
      .kind = FamilyKind::causal,
      .fields = bloom_fields(),
      .parse = parse_bloom,
      .prefix = "transformer.",
      .body = {.rows = {{"word_embeddings.weight", "embedding.tokens.weight", {vocabulary, width}},
                        {"word_embeddings_layernorm", "embedding.norm", {width}}},
               .layers = {{"h.{}.", "layers.{}.", layer}},
               .last = {{"ln_f", "final_norm", {width}}}},
      .language_head = projection_head("lm_head.weight", "word_embeddings.weight"),
      .inside = {"h.", "word_embeddings"},
      .expect = expect_bloom,
      .note =
          [](const Settings& settings, std::vector<std::string>& notes) {
            if (settings.model.dropout == 0) return;
            notes.emplace_back("transformers' BLOOM has no dropout after the embedding");
          },
  };
}

}  // namespace roformer
