#include "study/metric.h"

#include <algorithm>
#include <optional>

#include "config/study_metrics.h"

namespace roformer {
namespace {

using Best = Column::Best;
using Style = NumberFormat::Style;

const std::vector<Column>& known_metrics() {
  static const std::vector<Column> metrics{
      {.title = "parameters", .key = "parameters", .format = {Style::count, 0}},
      {.title = "validation loss",
       .key = "validation_loss",
       .format = {Style::fixed, 3},
       .best = Best::lowest},
      {.title = "masked accuracy",
       .key = "masked_accuracy",
       .unit = "%",
       .format = {Style::percent, 1},
       .best = Best::highest},
      {.title = "accuracy",
       .key = "accuracy",
       .unit = "%",
       .format = {Style::percent, 1},
       .best = Best::highest},
      // Of different tasks, so that none of a column is the best.
      {.title = "score", .key = "score", .unit = "x100", .format = {Style::percent, 1}},
      {.title = "collapsed runs", .key = "collapsed", .format = {Style::count, 0}},
      {.title = "train", .key = "training_examples", .format = {Style::count, 0}},
      {.title = "dev", .key = "validation_examples", .format = {Style::count, 0}},
      {.title = "F1",
       .key = "f1",
       .unit = "%",
       .format = {Style::percent, 1},
       .best = Best::highest},
      {.title = "Matthews",
       .key = "matthews",
       .unit = "x100",
       .format = {Style::percent, 1},
       .best = Best::highest},
      {.title = "Pearson",
       .key = "pearson",
       .unit = "x100",
       .format = {Style::percent, 1},
       .best = Best::highest},
      {.title = "Spearman",
       .key = "spearman",
       .unit = "x100",
       .format = {Style::percent, 1},
       .best = Best::highest},
      {.title = "perplexity",
       .key = "perplexity",
       .format = {Style::fixed, 2},
       .best = Best::lowest},
      {.title = "bits per character",
       .key = "bits_per_character",
       .format = {Style::fixed, 3},
       .best = Best::lowest},
      {.title = "loss at 25 %",
       .key = "loss_at_25",
       .format = {Style::fixed, 3},
       .best = Best::lowest},
      {.title = "at 50 %", .key = "loss_at_50", .format = {Style::fixed, 3}, .best = Best::lowest},
      {.title = "at 75 %", .key = "loss_at_75", .format = {Style::fixed, 3}, .best = Best::lowest},
      {.title = "tokens/s",
       .key = "tokens_per_second",
       .format = {Style::count, 0},
       .best = Best::highest},
      {.title = "steps", .key = "steps", .format = {Style::count, 0}},
      {.title = "tokens", .key = "tokens", .format = {Style::count, 0}},
      {.title = "time", .key = "minutes", .unit = "min", .format = {Style::fixed, 1}},
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
  for (const Column& metric : known_metrics()) {
    if (metric.key == name) return metric;
  }
  std::string title = name;
  std::replace(title.begin(), title.end(), '_', ' ');
  const bool loss = name.find("loss") != std::string::npos;
  return {.title = title,
          .key = name,
          .format = {Style::fixed, 3},
          .best = loss ? Best::lowest : Best::highest};
}

std::vector<std::string> standard_metrics(TaskKind task) {
  switch (task) {
    case TaskKind::mlm:
      return {"masked_accuracy", "loss_at_25", "loss_at_50", "loss_at_75", "tokens_per_second"};
    case TaskKind::causal_lm:
      return {"perplexity", "bits_per_character", "loss_at_25",
              "loss_at_50", "loss_at_75",         "tokens_per_second"};
    case TaskKind::glue:
      return {"score_median", "collapsed", "training_examples", "validation_examples", "minutes"};
  }
  return {};
}

}  // namespace roformer
