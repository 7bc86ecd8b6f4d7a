#include "experiments/axis_title.h"

#include <algorithm>

#include "config/task_facts.h"
#include "config/words.h"
#include "data/glue.h"
#include "experiments/metric.h"

namespace roformer {

std::string axis_value_title(const std::string& key, const std::string& value) {
  if (key != "glue.task") return value;
  const auto& words = Words<GlueTask>::texts;
  const auto found = std::find(words.begin(), words.end(), value);
  if (found == words.end()) return value;
  const GlueTaskFacts& facts = glue_task_facts(static_cast<GlueTask>(found - words.begin()));
  return facts.folder + " (" + metric_column(std::string(glue_metric(facts.task))).title + ")";
}

}  // namespace roformer
