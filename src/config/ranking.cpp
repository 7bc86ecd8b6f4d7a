#include "config/ranking.h"

#include <optional>

#include "config/task_facts.h"

namespace roformer {

Ranking ranking_of(const Settings& settings) {
  const std::string figure(task_facts(settings.task).ranked_by(settings));
  const std::optional<FoundMetric> metric = find_metric(metric_of(figure, settings));
  return {.figure = figure, .higher_is_better = metric && metric->facts.higher_is_better};
}

}  // namespace roformer
