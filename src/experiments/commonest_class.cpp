#include "experiments/commonest_class.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "data/glue.h"
#include "metrics/agreement.h"

namespace roformer {
namespace {

std::int64_t commonest_label(const std::vector<GlueExample>& examples, std::size_t classes) {
  std::vector<std::int64_t> counts(classes);
  for (const GlueExample& example : examples) ++counts[static_cast<std::size_t>(example.label)];
  return std::max_element(counts.begin(), counts.end()) - counts.begin();
}

}  // namespace

std::optional<double> commonest_class_score(const Settings& settings) {
  const GlueTask task = settings.glue.task;
  const GlueTaskFacts& facts = glue_task_facts(task);
  const bool glue = task_facts(settings.task).data == TaskData::glue_folder;
  if (!glue || facts.is_regression()) return std::nullopt;
  try {
    const GlueExamples train = read_glue(settings.data.directory, task, GlueSplit::train);
    const GlueExamples held_out = read_glue(settings.data.directory, task, GlueSplit::validation);
    if (!train.labelled || !held_out.labelled) return std::nullopt;
    std::vector<std::int64_t> labels;
    for (const GlueExample& example : held_out.examples) labels.push_back(example.label);
    const std::vector<std::int64_t> predictions(
        labels.size(), commonest_label(train.examples, facts.labels.size()));
    const LabelPairs pairs{.predictions = predictions, .labels = labels};
    const std::string_view metric = glue_metric(task);
    return metric == "f1"         ? f1(pairs).value
           : metric == "matthews" ? matthews(pairs).value
                                  : accuracy(pairs).value;
  } catch (const Error& error) {
    log::warn("no row of the commonest class: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace roformer
