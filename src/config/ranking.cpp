#include "config/ranking.h"

#include <algorithm>

#include "config/task_facts.h"

namespace roformer {

Ranking ranking_of(const Settings& settings) {
  const std::string figure(task_facts(settings.task).ranked_by(settings));
  const std::string metric = metric_of(figure, settings);
  const auto facts = std::ranges::find(metric_facts(), metric, &MetricFacts::name);
  return {.figure = figure,
          .higher_is_better = facts != metric_facts().end() && facts->higher_is_better};
}

}  // namespace roformer
