// What a task is, as far as anyone must know who does not compute it: what its model looks like,
// what data it takes, what its validations say and what can be done with a run of it. The table
// stands here, without LibTorch, so that the checks of a configuration, studies and commands ask it
// and none of them knows the tasks by name. How a task is computed is in tasks/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

// What data.directory names; nothing where the task makes its data.
enum class TaskData { prepared_text, glue_folder, parallel_text, matching_folder, generated };

// How a figure of a validation is shown.
struct MetricFacts {
  std::string_view name;   // in studies, "masked_accuracy"
  std::string_view title;  // "masked accuracy"
  std::string_view unit;   // "%" or "x100": a share, shown a hundred times as large
  int digits = 3;
  bool higher_is_better = false;

  bool is_share() const { return !unit.empty(); }
};
struct FoundMetric {
  const MetricFacts* facts = nullptr;  // of the figure
  std::string at;  // "_at_x16", "_at_length_32": how long the texts were that a share is of
};
// The figure of tasks' validations that a study calls so; nothing for another name.
std::optional<FoundMetric> find_metric(std::string_view name);

// A figure of a task's validations and the name that studies have for it.
struct TaskFigure {
  std::string figure;  // "accuracy"
  std::string metric;  // "masked_accuracy"
};

struct TaskFacts {
  TaskKind task;
  std::string_view title;    // "masked language model"
  bool causal = false;       // its model looks to the left only
  bool has_decoder = false;  // an encoder-decoder: its scheme serves both directions
  TaskData data = TaskData::prepared_text;
  std::string_view data_hint;  // where its data come from, for who has named none
  // Its examples are labelled: they are counted in run.json, and the figure that ranks has the name
  // "score", too, under which tasks of different metrics stand in one table.
  bool labelled = false;

  // What a run of it can do. The commands of that name ask these.
  bool fills_masks = false;
  bool generates = false;
  bool predicts_labels = false;
  bool evaluates_text = false;  // by length and arrangement of the text
  bool translates = false;
  bool matches = false;  // texts, by how close they are

  // The figures of its validations, and which of them ranks checkpoints.
  std::vector<TaskFigure> (*figures)(const Settings& settings) = nullptr;
  std::string_view (*ranked_by)(const Settings& settings) = nullptr;
  // The metrics that a study shows beside its own where it names none.
  std::vector<std::string_view> columns;
};

// Before the names of figures and metrics that are of the weights' moving average.
inline constexpr std::string_view kAveraged = "ema_";

// In the order of TaskKind.
std::span<const TaskFacts> all_task_facts();
const TaskFacts& task_facts(TaskKind task);

// The figure by which a task of GLUE is ranked: of the two that the benchmark averages for MRPC,
// QQP and STS-B the one that RoFormer's table has.
std::string_view glue_metric(GlueTask task);

// The name that studies have for a figure of the task's validations.
std::string metric_of(const std::string& figure, const Settings& settings);

}  // namespace roformer
