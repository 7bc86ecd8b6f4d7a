// DistilBERT (Sanh et al. 2019): BERT without token types and pooler, with other names. Field names
// and defaults: transformers' configuration_distilbert.py.
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

constexpr double kNormEpsilon = 1e-12;  // no field says it
constexpr EncoderNames kNames = {
    .width = "dim", .layers = "n_layers", .heads = "n_heads", .feed_forward = "hidden_dim"};

void parse_distilbert(const JsonFields& fields, FolderConfig& config) {
  require_absolute_positions(fields);
  parse_bert_like(fields, config, kNames);
  config.settings.model.norm_epsilon = kNormEpsilon;
  config.settings.glue.head = ClassifierHead::distilbert;
  learn_positions(config.settings);
}

WeightGroup distilbert_body() {
  using enum Size;
  const std::vector<WeightRow> rows = {
      {"embeddings.word_embeddings.weight", "embedding.tokens.weight", {vocabulary, width}},
      {"embeddings.position_embeddings.weight", "position.table", {Size::positions, width}},
      {"embeddings.LayerNorm", "embedding.norm", {width}},
  };
  const std::vector<WeightRow> layer = {
      {"attention.[q_lin|k_lin|v_lin]", "attention.query_key_value", {heads, width}},
      {"attention.out_lin", "attention.output", {width, heads}},
      {"sa_layer_norm", "attention.norm", {width}},
      {"ffn.lin1", "feed_forward.inner", {inner, width}},
      {"ffn.lin2", "feed_forward.outer", {width, inner}},
      {"output_layer_norm", "feed_forward.norm", {width}},
  };
  return {.rows = rows, .layers = {{"transformer.layer.{}.", "layers.{}.", layer}}};
}

}  // namespace

Family distilbert_family() {
  using enum Size;
  return {
      .type = "distilbert",
      .title = "DistilBERT",
      .classes = "DistilBert",
      .fields = encoder_fields(
          {.vocabulary = 30522, .layers = 6, .names = kNames}, tied_head(),
          {activation("activation"), probability("dropout", &ModelSettings::dropout, 0.1),
           probability("attention_dropout", &AttentionSettings::dropout, 0.1),
           classifier_dropout(0.2, "seq_classif_dropout")}),
      .parse = parse_distilbert,
      .prefix = "distilbert.",
      .body = distilbert_body(),
      .language_head = with_decoder({{"vocab_transform", "head.dense", {width, width}},
                                     {"vocab_layer_norm", "head.norm", {width}}},
                                    {.bias = "vocab_projector.bias",
                                     .decoder_bias = "vocab_projector.bias",
                                     .decoder = "vocab_projector.weight"},
                                    width),
      .classification_head = {{{"pre_classifier", "pooler", {width, width}},
                               {"classifier", "classifier", {any, width}}}},
      .ignored_endings = {"position_ids"},
      .inside = {"transformer.", "embeddings"},
      .taggers_drop_as_layers = true,
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            wishes.expect(settings.model.token_types == 0,
                          "DistilBERT has no token types (model.token_types 0)");
            wishes.expect(settings.model.norm_epsilon == kNormEpsilon,
                          "DistilBERT's norms add 1e-12 (model.norm_epsilon)");
            expect_table_encoder(
                settings, {.head = ClassifierHead::distilbert, .title = "DistilBERT"}, wishes);
          },
  };
}

}  // namespace roformer
