// The facts and keys of the task tagging, a tag for each token.
#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> tagging_keys() {
  return {
      ROFORMER_KEY(
          tagging.tokens,
          {.help = "column of the tokens by name or number, or field of JSON Lines; empty: "
                   "the first column, or tokens",
           .of_file = true}),
      ROFORMER_KEY(tagging.tags,
                   {.help = "column of the tags by name or number, or field of JSON Lines; empty: "
                            "the last column, or tags (ner_tags)",
                    .of_file = true}),
      ROFORMER_KEY(tagging.scheme,
                   {.help = "how tags mark the parts of an entity: bio, bioes, or plain tags that "
                            "mark none (parts of speech); auto: detected from the training data"}),
      ROFORMER_KEY(tagging.classes,
                   {.help = "the tags in the order of the outputs; empty: those in data.train",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(
          tagging.head_dropout,
          {.unit = "probability", .range = below_one(), .help = "dropout before the head"}),
  };
}

std::vector<TaskFigure> tagging_figures(const Settings&) {
  return {{"loss", "validation_loss"}, {"accuracy", "accuracy"},   {"precision", "precision"},
          {"recall", "recall"},        {"entity_f1", "entity_f1"}, {"collapsed", "collapsed"}};
}

std::string_view by_entity_f1(const Settings&) {
  return "entity_f1";
}

MetricFacts percent(std::string_view name, std::string_view title) {
  return {.name = name, .title = title, .unit = "%", .digits = 1, .higher_is_better = true};
}

}  // namespace

TaskFacts tagging_facts() {
  return {.task = TaskKind::tagging,
          .name = "tagging",
          .title = "tagger of tokens",
          .data = TaskData::labelled_files,
          .data_hint = "--data.train FILE, CoNLL columns or JSON Lines of tokens and tags",
          .labelled = true,
          .exported = ExportForm::tagger,
          .keys = tagging_keys,
          .figures = tagging_figures,
          .ranked_by = by_entity_f1,
          .metrics = {percent("precision", "precision"), percent("recall", "recall"),
                      percent("entity_f1", "entity F1")},
          .columns = {"score_median", "collapsed", "training_examples", "validation_examples",
                      "minutes"}};
}

}  // namespace roformer
