// RoBERTa (Liu et al. 2019), XLM-R (Conneau et al. 2020) and CamemBERT (Martin et al. 2020): BERT
// with other names of its heads and a table of positions that begins with rows for padding, so that
// position 0 is row pad_token_id + 1. Field names and defaults: transformers'
// configuration_roberta.py and its two copies.
#include <utility>

#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

void parse_roberta(const JsonFields& fields, FolderConfig& config) {
  require_absolute_positions(fields);
  parse_bert_like(fields, config);
  Settings& settings = config.settings;
  require_gelu(fields, settings.model, std::string(config.family->title));
  config.rows.of_padding = fields.count("pad_token_id", 1, between(-1, 1 << 24)) + 1;
  if (settings.data.length <= config.rows.of_padding) {
    fields.refuse("max_position_embeddings",
                  "more than \"pad_token_id\" + 1: positions begin after those rows");
  }
  settings.data.length -= config.rows.of_padding;
  learn_positions(settings);
  settings.glue.head = ClassifierHead::roberta;
  config.notes.push_back(
      "transformers' tokenizer puts two separators between the texts of a pair, this program one");
}

Family roberta_like(std::string_view type, std::string_view title, std::string_view classes,
                    std::int64_t tokens) {
  using enum Size;
  const auto id = [](std::int64_t ExportedConfig::*token) {
    return [=](const ExportedConfig& config) { return id_or_null(config.*token); };
  };
  std::vector<ConfigField> own = {
      classifier_dropout(-1),
      written("bos_token_id", id(&ExportedConfig::classification)),
      written("eos_token_id", id(&ExportedConfig::separator)),
  };
  std::vector<ConfigField> fields = bert_fields({.vocabulary = tokens}, std::move(own));
  // Without a padding token it is -1, and position 0 is row 0.
  fields.push_back(
      written("pad_token_id", [](const ExportedConfig& config) { return config.padding; }));
  return {
      .type = type,
      .title = title,
      .classes = classes,
      .fields = std::move(fields),
      .parse = parse_roberta,
      .prefix = "roberta.",
      .body = bert_body(padded_positions),
      .language_head = with_decoder({{"lm_head.dense", "head.dense", {width, width}},
                                     {"lm_head.layer_norm", "head.norm", {width}}},
                                    {.bias = "lm_head.bias",
                                     .decoder_bias = "lm_head.decoder.bias",
                                     .decoder = "lm_head.decoder.weight"},
                                    width),
      .classification_head = {{{"classifier.dense", "pooler", {width, width}},
                               {"classifier.out_proj", "classifier", {any, width}}}},
      .ignored_endings = {"position_ids"},
      .inside = {"encoder.", "embeddings"},
      .pads_positions = true,
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            expect_table_encoder(settings, {.head = ClassifierHead::roberta, .title = "RoBERTa"},
                                 wishes);
            expect_gelu(settings, "RoBERTa", wishes);
          },
  };
}

}  // namespace

Family roberta_family() {
  return roberta_like("roberta", "RoBERTa", "Roberta", 50265);
}
Family xlm_roberta_family() {
  return roberta_like("xlm-roberta", "XLM-R", "XLMRoberta", 30522);
}
Family camembert_family() {
  return roberta_like("camembert", "CamemBERT", "Camembert", 30522);
}

}  // namespace roformer
