#include "experiments/metric.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "experiments/declaration/study_metrics.h"
#include "tasks/evaluation.h"

namespace roformer {
namespace {

using Best = Column::Best;
using Digits = NumberFormat::Style;

// Figures of every run, whatever its task.
const std::vector<Column>& run_metrics() {
  static const std::vector<Column> metrics{
      {.title = "parameters", .key = "parameters", .format = {Digits::count, 0}},
      // Scores of different tasks, so no cell of the column is the best.
      {.title = "score", .key = "score", .unit = "x100", .format = {Digits::percent, 1}},
      {.title = "collapsed runs", .key = "collapsed", .format = {Digits::count, 0}},
      {.title = "train", .key = "training_examples", .format = {Digits::count, 0}},
      {.title = "dev", .key = "validation_examples", .format = {Digits::count, 0}},
      {.title = "loss at 25 %",
       .key = "loss_at_25",
       .format = {Digits::fixed, 3},
       .best = Best::lowest},
      {.title = "loss at 50 %",
       .key = "loss_at_50",
       .format = {Digits::fixed, 3},
       .best = Best::lowest},
      {.title = "loss at 75 %",
       .key = "loss_at_75",
       .format = {Digits::fixed, 3},
       .best = Best::lowest},
      {.title = "tokens/s",
       .key = "tokens_per_second",
       .format = {Digits::count, 0},
       .best = Best::highest},
      {.title = "time per step",
       .key = "milliseconds_per_step",
       .unit = "ms",
       .format = {Digits::fixed, 1},
       .best = Best::lowest},
      {.title = "memory",
       .key = "peak_memory",
       .unit = "MiB",
       .format = {Digits::count, 0},
       .best = Best::lowest},
      {.title = "steps", .key = "steps", .format = {Digits::count, 0}},
      {.title = "tokens", .key = "tokens", .format = {Digits::count, 0}},
      {.title = "time", .key = "minutes", .unit = "min", .format = {Digits::fixed, 1}},
  };
  return metrics;
}

}  // namespace

Column metric_column(const std::string& name) {
  if (const std::optional<std::string> figure = median_of(name)) {
    Column column = metric_column(*figure);
    column.title = "median";
    column.key = name;
    return column;
  }
  if (const std::optional<std::string> figure = mismatched_of(name)) {
    Column column = metric_column(*figure);
    column.title += ", mismatched";
    column.key = name;
    return column;
  }
  for (const Column& metric : run_metrics()) {
    if (metric.key == name) return metric;
  }
  constexpr std::string_view kTestLength = "test_loss_at_length_";
  if (name.starts_with(kTestLength)) {
    return {.title = "test loss at " + name.substr(kTestLength.size()),
            .key = name,
            .format = {Digits::fixed, 3},
            .best = Best::lowest};
  }
  const std::vector<std::string> scores = translation_scores();
  if (std::ranges::find(scores, name) != scores.end()) {
    const std::string_view test = "test_", split = "_compound_split";
    const bool compounds = name.ends_with(split);
    Column column = figure_column(
        name.substr(test.size(), name.size() - test.size() - (compounds ? split.size() : 0)));
    column.title = "test " + column.title + (compounds ? ", compounds split" : "");
    column.key = name;
    return column;
  }
  return figure_column(name);
}

}  // namespace roformer
