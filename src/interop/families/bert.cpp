// BERT (Devlin et al. 2018): a post-norm encoder with a learned table of positions. Field names and
// defaults: transformers' configuration_bert.py.
#include "config/schemes/learned.h"
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {

Family bert_family() {
  return {
      .type = "bert",
      .title = "BERT",
      .classes = "Bert",
      .fields = bert_fields({.vocabulary = 30522}, {classifier_dropout(-1)}),
      .parse =
          [](const Family& family, const JsonFields& fields, const JsonFields&,
             FolderConfig& config) {
            parse_bert_like(family, fields, config);
            config.settings.position.scheme = "learned";
            config.settings.position.of<LearnedSettings>().length = config.settings.data.length;
          },
      .prefix = "bert.",
      .body = bert_body(),
      .language_head = bert_language_head(),
      .pooler = bert_pooler(),
      .classification_head = {{{"classifier", "classifier", {Size::any, Size::width}}}},
      .ignored_endings = {"position_ids"},  // the tensor 0, 1, 2, ...
      .inside = {"encoder.", "embeddings", "layers.", "final_norm"},
      .always_tied = true,
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            const ModelSettings& model = settings.model;
            wishes.expect(!settings.position.of<LearnedSettings>().hierarchical,
                          "BERT's table of positions is not hierarchical");
            wishes.expect(model.embedding_width == 0 || model.embedding_width == model.width,
                          "BERT has no projection after its embedding (model.embedding_width)");
            expect_bert_layers(settings, wishes);
            expect_head(settings, ClassifierHead::bert, "BERT", wishes);
          },
  };
}

}  // namespace roformer
