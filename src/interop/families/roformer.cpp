// RoFormer (Su et al. 2021): BERT's layers with rotations of neighbouring features in queries and
// keys, and in values with rotary_value. Field names and defaults: transformers'
// configuration_roformer.py.
#include <fmt/format.h>

#include "config/schemes/rope.h"
#include "config/task_facts.h"
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {

Family roformer_family() {
  return {
      .type = "roformer",
      .title = "RoFormer",
      .classes = "RoFormer",
      .fields = bert_fields({.vocabulary = 50000, .positions = 1536},
                            {embedding_size(0), flag("rotary_value", &RopeSettings::value, false)}),
      .parse =
          [](const JsonFields& fields, FolderConfig& config) {
            Settings& settings = config.settings;
            settings.position.scheme = "rope";
            settings.position.of<RopeSettings>().layout = RotaryLayout::interleaved;
            require_absolute_positions(fields);
            parse_bert_like(fields, config);
            require_even_heads(fields, settings.model);
            settings.glue.head = ClassifierHead::roformer;
            settings.glue.head_dropout = settings.model.dropout;
          },
      .prefix = "roformer.",
      .body = bert_body(),
      .language_head = bert_language_head(),
      .classification_head =
          {{{"classifier.dense", "classifier.dense", {Size::width, Size::width}},
            {"classifier.out_proj", "classifier.output", {Size::any, Size::width}}}},
      .sinusoids = {{"encoder.embed_positions.weight"}, Size::head},
      .ignored_endings = {"position_ids"},
      .inside = {"encoder.", "embeddings", "layers.", "final_norm"},
      .expect =
          [](const Settings& settings, Wishes& wishes) {
            const RopeSettings& rope = settings.position.of<RopeSettings>();
            wishes.expect(rope.layout == RotaryLayout::interleaved,
                          "RoFormer rotates neighbouring features (position.rope.layout "
                          "interleaved)");
            wishes.expect(rope.base == 10000, "RoFormer's base is 10000 (position.rope.base)");
            wishes.expect(rope.fraction == 1,
                          "RoFormer rotates whole heads (position.rope.fraction 1)");
            wishes.expect(rope.offset == 0,
                          "RoFormer's positions begin at 0 (position.rope.offset)");
            wishes.expect(rope.scaling == RopeScaling::none,
                          "RoFormer has no frequency scaling (position.rope.scaling none)");
            wishes.expect(rope.attention_factor == 0 || rope.attention_factor == 1,
                          "RoFormer scales neither queries nor keys "
                          "(position.rope.attention_factor 0)");
            expect_bert_layers(settings, wishes);
            expect_head(settings, ClassifierHead::roformer, "RoFormer", wishes);
          },
      // transformers' default. Its tables cannot hold a longer text.
      .least_positions = 1536,
      .note =
          [](const Settings& settings, std::vector<std::string>& notes) {
            const double dropout = settings.model.dropout;
            if (task_facts(settings.task).exported != ExportForm::classifier) return;
            if (classifier_settings(settings).head_dropout == dropout) return;
            notes.push_back(fmt::format(
                "RoFormer's head takes the dropout of the encoder, {}, in training; this model's "
                "was trained with {}",
                dropout, classifier_settings(settings).head_dropout));
          },
  };
}

}  // namespace roformer
