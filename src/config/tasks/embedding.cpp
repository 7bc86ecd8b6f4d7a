// The facts and keys of the task embedding: vectors of texts, near each other for texts that mean
// the same.
#include "config/embedding_scores.h"
#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> embedding_keys() {
  return {
      ROFORMER_KEY(embedding.text,
                   {.help = "two columns of texts that belong together, or three with a text that "
                            "does not, by name or number; empty: sentence1 and sentence2, or "
                            "anchor, positive and negative",
                    .of_file = true}),
      ROFORMER_KEY(
          embedding.score,
          {.help =
               "column of the similarity. loss cosine learns it (empty: score). With in_batch it "
               "is read for validation only: checkpoints are then ranked by Spearman's "
               "correlation (empty: no scores, ranked by retrieval accuracy). Scores above 1 "
               "are divided by the highest of data.train",
           .of_file = true}),
      ROFORMER_KEY(
          embedding.loss,
          {.help = "in_batch: the cross entropy of finding each text's partner among all partners "
                   "and negatives of the micro-batch (van den Oord 2018), not those of other "
                   "micro-batches of the step; cosine: the squared error between the cosine and "
                   "the score (Reimers 2019)"}),
      ROFORMER_KEY(
          embedding.temperature,
          {.range = above(0), .help = "divides the cosines before the softmax of in_batch"}),
      ROFORMER_KEY(embedding.symmetric, {.help = "in_batch: the mean of both directions"}),
      ROFORMER_KEY(embedding.pooling,
                   {.help = "the vector of a text: the mean of the states of all tokens, or the "
                            "first token's state"}),
      ROFORMER_KEY(embedding.normalize, {.help = "vectors have length 1"}),
  };
}

std::vector<TaskFigure> embedding_figures(const Settings& settings) {
  std::vector<TaskFigure> figures{{"loss", "validation_loss"}, {"collapsed", "collapsed"}};
  if (validates_by_scores(settings.embedding)) {
    figures.insert(figures.end(), {{"spearman", "spearman"}, {"pearson", "pearson"}});
  } else {
    figures.push_back({"retrieval_accuracy", "retrieval_accuracy"});
  }
  return figures;
}

std::string_view by_spearman_or_retrieval(const Settings& settings) {
  return validates_by_scores(settings.embedding) ? "spearman" : "retrieval_accuracy";
}

}  // namespace

TaskFacts embedding_facts() {
  return {.task = TaskKind::embedding,
          .name = "embedding",
          .title = "embedder of texts",
          .data = TaskData::labelled_files,
          .data_hint = "--data.train FILE, a CSV, TSV or JSON Lines file of pairs or triplets",
          .labelled = true,
          .exported = ExportForm::embedder,
          .keys = embedding_keys,
          .figures = embedding_figures,
          .ranked_by = by_spearman_or_retrieval,
          .metrics = {{.name = "retrieval_accuracy",
                       .title = "retrieval accuracy",
                       .unit = "%",
                       .digits = 1,
                       .higher_is_better = true}},
          .columns = {"score_median", "collapsed", "training_examples", "validation_examples",
                      "minutes"}};
}

}  // namespace roformer
