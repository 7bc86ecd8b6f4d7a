// ELECTRA (Clark et al. 2020): BERT's layers after an embedding that may be narrower. A generator
// has a head for masked words; a discriminator tells replaced words apart, for which this program
// has no head: its encoder is read alone. Field names and defaults: transformers'
// configuration_electra.py.
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {

Family electra_family() {
  using enum Size;
  return {
      .type = "electra",
      .title = "ELECTRA",
      .classes = "Electra",
      .fields = bert_fields({.vocabulary = 30522, .feed_forward = 1024, .width = 256, .heads = 4},
                            {embedding_size(128), classifier_dropout(-1)}),
      .parse =
          [](const JsonFields& fields, FolderConfig& config) {
            require_absolute_positions(fields);
            parse_bert_like(fields, config);
            require_gelu(fields, config.settings.model, "ELECTRA");
            config.settings.glue.head = ClassifierHead::roformer;
            learn_positions(config.settings);
          },
      .prefix = "electra.",
      .body = bert_body(),
      .language_head =
          with_decoder({{"generator_predictions.dense", "head.dense", {embedding, width}},
                        {"generator_predictions.LayerNorm", "head.norm", {embedding}}},
                       {.bias = "generator_lm_head.bias",
                        .decoder_bias = "generator_lm_head.bias",
                        .decoder = "generator_lm_head.weight"},
                       embedding),
      .classification_head = {{{"classifier.dense", "classifier.dense", {width, width}},
                               {"classifier.out_proj", "classifier.output", {any, width}}}},
      .ignored_endings = {"position_ids"},
      .inside = {"encoder.", "embeddings"},
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            expect_table_encoder(
                settings, {.head = ClassifierHead::roformer, .title = "ELECTRA", .narrow = true},
                wishes);
            expect_gelu(settings, "ELECTRA", wishes);
          },
  };
}

}  // namespace roformer
