#include "tasks/evaluation.h"

#include <algorithm>

#include "config/task_facts.h"

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

}  // namespace roformer
