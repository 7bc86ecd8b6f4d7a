// NEZHA (Wei et al. 2019): BERT with fixed sines and cosines of the distance in keys and values
// instead of a table of positions. Field names and defaults: configuration_nezha.py of transformers
// 4; transformers 5 no longer has the family.
#include "config/schemes/nezha.h"
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {

Family nezha_family() {
  return {
      .type = "nezha",
      .title = "NEZHA",
      .classes = "Nezha",
      .fields = bert_fields(
          {.vocabulary = 21128},
          {count("max_relative_position", &NezhaSettings::clip, 64, between(1, 1 << 20)),
           classifier_dropout(0.1)}),
      .parse =
          [](const JsonFields& fields, FolderConfig& config) {
            config.settings.position.scheme = "nezha";
            require_absolute_positions(fields);
            parse_bert_like(fields, config);
            require_even_heads(fields, config.settings.model);
          },
      .prefix = "nezha.",
      .body = bert_body(),
      .language_head = bert_language_head(),
      .pooler = bert_pooler(),
      .classification_head = {{{"classifier", "classifier", {Size::any, Size::width}}}},
      .ignored_endings = {"position_ids"},
      .inside = {"encoder.", "embeddings"},
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            const ModelSettings& model = settings.model;
            wishes.expect(settings.position.of<NezhaSettings>().base == 10000,
                          "NEZHA's base is 10000 (position.nezha.base)");
            wishes.expect(model.embedding_width == 0 || model.embedding_width == model.width,
                          "NEZHA has no projection after its embedding (model.embedding_width)");
            expect_bert_layers(settings, wishes);
            expect_head(settings, ClassifierHead::bert, "NEZHA", wishes);
          },
      .least_positions = 512,
      .note =
          [](const Settings&, std::vector<std::string>& notes) {
            notes.push_back("transformers 4 loads it; transformers 5 has no NEZHA");
          },
  };
}

}  // namespace roformer
