// BERT (Devlin et al. 2018): a post-norm encoder with a learned table of positions, or with one
// vector for each distance in its keys (relative_key; Shaw et al. 2018). Field names and defaults:
// transformers' configuration_bert.py; only transformers 4 has relative_key.
#include "config/schemes/shaw.h"
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

constexpr const char* kPositions = "position_embedding_type";

bool has_distances(const Settings& settings) {
  return settings.position.scheme == "shaw";
}

void parse_bert(const JsonFields& fields, FolderConfig& config) {
  parse_bert_like(fields, config);
  Settings& settings = config.settings;
  const std::string positions = fields.text(kPositions, "absolute");
  if (positions == "absolute") return learn_positions(settings);
  if (positions != "relative_key") {
    fields.refuse(kPositions,
                  "absolute or relative_key: no scheme here multiplies queries and keys by one "
                  "table of distances");
  }
  const std::int64_t farthest = settings.data.length - 1;
  settings.position.scheme = "shaw";
  settings.position.of<ShawSettings>() = {.left = farthest, .right = farthest, .values = false};
}

void expect_bert(const Settings& settings, Wishes& wishes) {
  if (has_distances(settings)) {
    const auto& shaw = settings.position.of<ShawSettings>();
    wishes.expect(!shaw.values, "distances change keys alone (position.shaw.values false)");
    wishes.expect(shaw.left == shaw.right && shaw.left + 1 >= settings.data.length,
                  "no distance is clipped (position.shaw.left and position.shaw.right, both at "
                  "least data.length - 1)");
  }
  expect_table_encoder(settings, {.head = ClassifierHead::bert, .title = "BERT"}, wishes);
}

}  // namespace

Family bert_family() {
  const ConfigField positions = written(kPositions, [](const ExportedConfig& config) {
    return has_distances(config.settings) ? ConfigField::Json("relative_key") : left_out();
  });
  return {
      .type = "bert",
      .title = "BERT",
      .classes = "Bert",
      .fields = bert_fields({.vocabulary = 30522}, {positions, classifier_dropout(-1)}),
      .parse = parse_bert,
      .prefix = "bert.",
      .body = bert_body(),
      .language_head = bert_language_head(),
      .pooler = bert_pooler(),
      .classification_head = {{{"classifier", "classifier", {Size::any, Size::width}}}},
      .ignored_endings = {"position_ids"},  // the tensor 0, 1, 2, ...
      .inside = {"encoder.", "embeddings", "layers.", "final_norm"},
      .expect = expect_bert,
      .note =
          [](const Settings& settings, std::vector<std::string>& notes) {
            if (!has_distances(settings)) return;
            notes.push_back(
                "transformers 4 computes its relative_key; transformers 5 has no such BERT and "
                "leaves the distances out");
          },
  };
}

}  // namespace roformer
