#include "config/task_facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "config/tasks/list.h"
#include "config/words.h"

namespace roformer {

#define ROFORMER_DECLARE_TASK(name) TaskFacts name##_facts();
ROFORMER_EACH_TASK(ROFORMER_DECLARE_TASK)
#undef ROFORMER_DECLARE_TASK

namespace {

// Figures that several tasks have.
constexpr std::array kMetrics = {
    MetricFacts{.name = "validation_loss", .title = "validation loss"},
    MetricFacts{.name = "accuracy",
                .title = "accuracy",
                .unit = "%",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "perplexity", .title = "perplexity", .digits = 2},
};

std::vector<TaskFacts>& table() {
#define ROFORMER_TASK_FACTS(name) name##_facts(),
  static std::vector<TaskFacts> facts = {ROFORMER_EACH_TASK(ROFORMER_TASK_FACTS)};
#undef ROFORMER_TASK_FACTS
  return facts;
}

const MetricFacts* metric_named(std::string_view name) {
  const auto common = std::ranges::find(kMetrics, name, &MetricFacts::name);
  if (common != kMetrics.end()) return &*common;
  for (const TaskFacts& task : table()) {
    const auto own = std::ranges::find(task.metrics, name, &MetricFacts::name);
    if (own != task.metrics.end()) return &*own;
  }
  return nullptr;
}

}  // namespace

std::optional<FoundMetric> find_metric(std::string_view name) {
  if (const MetricFacts* const metric = metric_named(name)) return FoundMetric{.facts = *metric};
  for (const std::string_view at : {"_at_x", "_at_length_"}) {
    const std::size_t end = name.rfind(at);
    if (end == std::string_view::npos) continue;
    const MetricFacts* const metric = metric_named(name.substr(0, end));
    if (metric == nullptr || !metric->is_share()) continue;
    return FoundMetric{.facts = *metric, .at = std::string(name.substr(end))};
  }
  return std::nullopt;
}

std::span<const TaskFacts> all_task_facts() {
  return table();
}

const TaskFacts& task_facts(TaskKind task) {
  const auto index = static_cast<std::size_t>(task);
  ROFORMER_ASSERT(index < table().size() && table()[index].task == task);
  return table()[index];
}

const TaskFacts* find_task(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &TaskFacts::name);
  return found == table().end() ? nullptr : &*found;
}

TaskKind register_task_facts(TaskFacts facts) {
  ROFORMER_ASSERT(find_task(facts.name) == nullptr);
  facts.task = static_cast<TaskKind>(table().size());
  table().push_back(std::move(facts));
  return table().back().task;
}

std::string to_word(TaskKind task) {
  return std::string(task_facts(task).name);
}

std::string_view data_key(const Settings& settings) {
  const bool files = task_facts(settings.task).data == TaskData::labelled_files;
  return files ? "data.train" : "data.directory";
}

const std::filesystem::path& data_path(const Settings& settings) {
  const bool files = task_facts(settings.task).data == TaskData::labelled_files;
  return files ? settings.data.train : settings.data.directory;
}

ClassifierHead resolved_head(ClassifierHead head, const Settings& settings) {
  if (head != ClassifierHead::automatic) return head;
  const ModelSettings& model = settings.model;
  if (model.norm == NormPlacement::pre && model.embedding_norm) return ClassifierHead::modernbert;
  constexpr std::array<std::string_view, 3> kRoberta = {"roberta", "xlm-roberta", "camembert"};
  if (std::ranges::find(kRoberta, model.family) != kRoberta.end()) return ClassifierHead::roberta;
  if (model.family == "distilbert") return ClassifierHead::distilbert;
  const bool like_roformer = settings.position.scheme == "rope" || model.family == "electra";
  return like_roformer ? ClassifierHead::roformer : ClassifierHead::bert;
}

ClassifierSettings classifier_settings(const Settings& settings) {
  ClassifierSettings found = settings.glue;
  if (settings.task == TaskKind::classification) found = settings.classification;
  found.head = resolved_head(found.head, settings);
  return found;
}

std::string_view by_loss(const Settings&) {
  return "loss";
}

std::string_view by_accuracy(const Settings&) {
  return "accuracy";
}

std::string metric_of(const std::string& figure, const Settings& settings) {
  for (const TaskFigure& known : task_facts(settings.task).figures(settings)) {
    if (known.figure == figure) return known.metric;
  }
  if (figure.starts_with(kAveraged)) {
    return std::string(kAveraged) + metric_of(figure.substr(kAveraged.size()), settings);
  }
  return figure;
}

}  // namespace roformer
