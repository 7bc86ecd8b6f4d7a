// The facts and keys of the tasks glue and classification, two classifiers.
#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> glue_keys() {
  return {
      ROFORMER_KEY(glue.task, {.help = "which task of the benchmark (Wang 2019)"}),
      ROFORMER_KEY(glue.head,
                   {.help = "bert: dense and tanh on [CLS], dropout, output; roformer: the head of "
                            "Hugging Face's RoFormer (dropout, dense, activation, dropout, "
                            "output); modernbert: that of its ModernBERT (dense, activation, norm, "
                            "dropout, output), whose first two begin as the masked language "
                            "head's; roberta: as bert, with dropout first; distilbert: as bert, "
                            "with relu; linear: dropout, output"}),
      ROFORMER_KEY(
          glue.head_dropout,
          {.unit = "probability", .range = below_one(), .help = "dropout inside the head"}),
      ROFORMER_KEY(glue.class_names,
                   {.help = "what `predict` and an export call the task's labels, in their order: "
                            "NEGATIVE|POSITIVE; empty: as the task does. An imported classifier's "
                            "are its folder's",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(glue.pooling, {.help = "what the head reads: the state of the first token, "
                                          "[CLS], or the mean of the states of all tokens"}),
  };
}

std::string_view by_glue_metric(const Settings& settings) {
  return glue_metric(settings.glue.task);
}

std::vector<TaskFigure> glue_figures(const Settings& settings) {
  std::vector<TaskFigure> figures{{"loss", "validation_loss"}, {"collapsed", "collapsed"}};
  const std::string ranking(by_glue_metric(settings));
  if (settings.glue.task == GlueTask::stsb) {
    figures.push_back({"pearson", "pearson"});
  } else if (ranking != "accuracy") {
    figures.push_back({"accuracy", "accuracy"});
  }
  figures.push_back({ranking, ranking});
  if (settings.glue.task != GlueTask::mnli) return figures;
  // the same figures of the second validation set
  for (const TaskFigure& figure : std::vector(figures)) {
    figures.push_back({figure.figure + "_mismatched", figure.metric + "_mismatched"});
  }
  return figures;
}

std::vector<Key> classification_keys() {
  return {
      ROFORMER_KEY(classification.kind,
                   {.help = "single: each text has one class; multi: any number of classes, which "
                            "the label column separates by |; regression: the label is a number"}),
      ROFORMER_KEY(classification.text,
                   {.help = "column of the text, or the two columns of a pair, by name or number; "
                            "empty: text, sentence, or sentence1 and sentence2",
                    .of_file = true}),
      ROFORMER_KEY(
          classification.label,
          {.help = "column of the label, by name or number; empty: label", .of_file = true}),
      ROFORMER_KEY(classification.classes,
                   {.help = "names of the classes in the order of the outputs; empty: those in "
                            "data.train, in alphabetical or numerical order",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(classification.class_weights,
                   {.help = "balanced: the loss of an example is weighted by the mean number of "
                            "examples per class divided by the number in its class"}),
      ROFORMER_KEY(classification.metric,
                   {.help = "the figure that ranks checkpoints; auto: accuracy (single), micro_f1 "
                            "(multi) or spearman (regression)",
                    .decides = Decides::figures}),
      ROFORMER_KEY(classification.head,
                   {.help = "as glue.head; auto: the head that transformers has for the model's "
                            "scheme and family, so that the classifier can be exported"}),
      ROFORMER_KEY(
          classification.head_dropout,
          {.unit = "probability", .range = below_one(), .help = "dropout inside the head"}),
      ROFORMER_KEY(classification.pooling,
                   {.help = "what the head reads: the state of the first token, [CLS], or the mean "
                            "of the states of all tokens"}),
  };
}

std::string_view by_classification_metric(const Settings& settings) {
  if (settings.classification.metric != ClassificationMetric::automatic) {
    return Words<ClassificationMetric>::texts[static_cast<std::size_t>(
        settings.classification.metric)];
  }
  switch (settings.classification.kind) {
    case TargetKind::single:
      return "accuracy";
    case TargetKind::multi:
      return "micro_f1";
    case TargetKind::regression:
      break;
  }
  return "spearman";
}

std::vector<TaskFigure> classification_figures(const Settings& settings) {
  std::vector<TaskFigure> figures{{"loss", "validation_loss"}, {"collapsed", "collapsed"}};
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) figures.push_back({name, name});
  };
  switch (settings.classification.kind) {
    case TargetKind::single:
      add({"accuracy", "macro_f1", "micro_f1", "matthews", "auc"});
      break;
    case TargetKind::multi:
      add({"accuracy", "macro_f1", "micro_f1", "auc"});
      break;
    case TargetKind::regression:
      add({"pearson", "spearman"});
      break;
  }
  return figures;
}

MetricFacts share(std::string_view name, std::string_view title, std::string_view unit) {
  return {.name = name, .title = title, .unit = unit, .digits = 1, .higher_is_better = true};
}

}  // namespace

std::string_view glue_metric(GlueTask task) {
  switch (task) {
    case GlueTask::cola:
      return "matthews";
    case GlueTask::mrpc:
    case GlueTask::qqp:
      return "f1";
    case GlueTask::stsb:
      return "spearman";
    default:
      return "accuracy";
  }
}

TaskFacts glue_facts() {
  return {
      .task = TaskKind::glue,
      .name = "glue",
      .title = "classifier",
      .data = TaskData::glue_folder,
      .data_hint = "--data.directory FOLDER, the GLUE folder that holds MRPC/, SST-2/ and so on",
      .labelled = true,
      .exported = ExportForm::classifier,
      .keys = glue_keys,
      .figures = glue_figures,
      .ranked_by = by_glue_metric,
      .metrics = {share("f1", "F1", "%"), share("matthews", "Matthews", "x100"),
                  share("pearson", "Pearson", "x100"), share("spearman", "Spearman", "x100")},
      .columns = {"score_median", "collapsed", "training_examples", "validation_examples",
                  "minutes"}};
}

TaskFacts classification_facts() {
  return {.task = TaskKind::classification,
          .name = "classification",
          .title = "classifier",
          .data = TaskData::labelled_files,
          .data_hint = "--data.train FILE, a CSV, TSV or JSON Lines file of texts and labels",
          .labelled = true,
          .exported = ExportForm::classifier,
          .keys = classification_keys,
          .figures = classification_figures,
          .ranked_by = by_classification_metric,
          .metrics = {share("macro_f1", "macro F1", "%"), share("micro_f1", "micro F1", "%"),
                      share("auc", "AUC", "%")},
          .columns = {"score_median", "collapsed", "training_examples", "validation_examples",
                      "minutes"}};
}

}  // namespace roformer
