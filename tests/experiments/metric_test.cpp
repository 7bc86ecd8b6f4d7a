// How figures are shown, and that the names which a study accepts are those of its runs' figures.
#include "experiments/metric.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "catch.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/declaration/study_metrics.h"
#include "tasks/classification/classification_figures.h"
#include "tasks/classification/classification_task.h"

using namespace roformer;

TEST_CASE("a median and MNLI's second set are shown as the figure that they are of") {
  const Column median = metric_column("accuracy_median");
  CHECK(median.title == "median");
  CHECK(median.unit == "%");
  const Column second = metric_column("accuracy_mismatched");
  CHECK(second.title == "accuracy, mismatched");
  CHECK(second.key == "accuracy_mismatched");
  CHECK(second.unit == "%");
  CHECK(second.best == Column::Best::highest);
  CHECK(metric_column("validation_loss_mismatched").best == Column::Best::lowest);
  CHECK(metric_column("odd_loss").best == Column::Best::lowest);
  CHECK(metric_column("odd_figure").best == Column::Best::highest);
}

TEST_CASE("the figures of a GLUE run are those that its task computes") {
  for (std::size_t i = 0; i < Words<GlueTask>::texts.size(); ++i) {
    const auto task = static_cast<GlueTask>(i);
    CAPTURE(Words<GlueTask>::texts[i]);
    Settings settings;
    settings.task = TaskKind::glue;
    settings.glue.task = task;
    const std::vector<std::string> known = run_figures(settings);
    const auto has = [&](const std::string& name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    const std::vector<LabelledText> examples{{.label = 0, .score = 1}, {.label = 1, .score = 2}};
    std::size_t metrics = 0;
    for (const auto& [figure, value] :
         classification_figures(glue_targets(task),
                                at::zeros({2, glue_targets(task).outputs()}), examples).values) {
      const std::string name = figure == "loss" ? "validation_loss" : figure;
      CAPTURE(name);
      CHECK(has(name));
      CHECK(has(name + "_mismatched") == (validation_splits(task).size() > 1));
      metrics += 1;
    }
    const std::vector<std::string> all{"validation_loss", "collapsed", "accuracy", "f1",
                                       "matthews",        "pearson",   "spearman"};
    CHECK(static_cast<std::size_t>(std::count_if(all.begin(), all.end(), has)) == metrics);
    CHECK(has(std::string(glue_metric(task))));
  }
}

TEST_CASE("an accuracy is one at every length") {
  for (const char* const name :
       {"accuracy_at_x16", "symbol_accuracy_at_x32", "accuracy_at_x2", "accuracy_at_length_64"}) {
    CAPTURE(name);
    const Column column = metric_column(name);
    CHECK(column.unit == "%");
    CHECK(column.key == name);
    CHECK(column.best == Column::Best::highest);
  }
  CHECK(metric_column("accuracy_at_x16").title == "accuracy at x16");
  CHECK(metric_column("loss_at_length_64").best == Column::Best::lowest);
}

TEST_CASE("what is shown where a study names nothing is there") {
  for (const TaskFacts& facts : all_task_facts()) {
    Settings settings;
    settings.task = facts.task;
    const std::vector<std::string> known = run_figures(settings);
    for (const std::string_view column : facts.columns) {
      CAPTURE(column);
      const std::string name(column);
      const std::string base = median_of(name).value_or(name);
      CHECK(std::find(known.begin(), known.end(), base) != known.end());
    }
  }
}
