#include "tasks/evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/task_facts.h"
#include "metrics/statistics.h"

namespace roformer {

Column figure_column(const std::string& name) {
  if (name.starts_with(kAveraged)) {
    Column column = figure_column(name.substr(kAveraged.size()));
    column.title += ", averaged weights";
    column.key = name;
    return column;
  }
  using Best = Column::Best;
  using Style = NumberFormat::Style;
  const std::optional<FoundMetric> found = find_metric(name);
  std::string title = found ? std::string(found->facts.title) + found->at : name;
  std::ranges::replace(title, '_', ' ');
  if (!found) {
    const bool loss = name.find("loss") != std::string::npos;
    return {.title = title,
            .key = name,
            .format = {Style::fixed, 3},
            .best = loss ? Best::lowest : Best::highest};
  }
  const MetricFacts& metric = found->facts;
  return {.title = title,
          .key = name,
          .unit = std::string(metric.unit),
          .format = {metric.is_share() ? Style::percent : Style::fixed, metric.digits},
          .best = metric.higher_is_better ? Best::highest : Best::lowest};
}

AnswerComparison compare_answers(const std::vector<bool>& first, const std::vector<bool>& second) {
  if (first.size() != second.size()) {
    throw_usage("--against",
                fmt::format("answered {} examples, the run {}", second.size(), first.size()));
  }
  AnswerComparison result;
  for (std::size_t i = 0; i < first.size(); ++i) {
    ++(first[i]    ? second[i] ? result.both : result.only_first
       : second[i] ? result.only_second
                   : result.neither);
  }
  result.p_value = mcnemar_exact(result.only_first, result.only_second);
  return result;
}

nlohmann::ordered_json to_json(const AnswerComparison& comparison) {
  return {{"both_right", comparison.both},
          {"only_run_right", comparison.only_first},
          {"only_other_right", comparison.only_second},
          {"neither_right", comparison.neither},
          {"p_value", comparison.p_value}};
}

std::string comparison_text(const AnswerComparison& comparison, const std::string& other) {
  return fmt::format(
      "against {}: {} examples right only here, {} right only there; McNemar's test (exact) "
      "p = {:.3f}{}",
      other, comparison.only_first, comparison.only_second, comparison.p_value,
      comparison.p_value < 0.05 ? "" : ": no significant difference at 5 %");
}

}  // namespace roformer
