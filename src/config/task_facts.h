// The facts of a task that need no tensors: the shape of its model, its data, its keys and the
// figures of its validations. Each task's facts are in config/tasks/NAME.cpp,
// without LibTorch, so that checks of a configuration, studies and commands ask them and name no
// task. How a task is computed is in tasks/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

struct Key;

// The kind of folder that data.directory names; `generated`: the task makes its data.
enum class TaskData { prepared_text, glue_folder, parallel_text, matching_folder, generated };

// What an export to a Hugging Face folder holds.
enum class ExportForm { none, language_model, classifier, translator };

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
  MetricFacts facts;  // of the figure
  std::string at;     // "_at_x16", "_at_length_32": the length of the texts that a share is of
};
// The figure of tasks' validations that has this name in studies; nothing for another name.
std::optional<FoundMetric> find_metric(std::string_view name);

// A figure of a task's validations and its name in studies.
struct TaskFigure {
  std::string figure;  // "accuracy"
  std::string metric;  // "masked_accuracy"
};

struct TaskFacts {
  TaskKind task = {};
  std::string_view name;     // value of the key `task`
  std::string_view title;    // "masked language model"
  bool causal = false;       // its model looks to the left only
  bool has_decoder = false;  // an encoder-decoder: its scheme serves both directions
  TaskData data = TaskData::generated;
  std::string_view data_hint;  // where its data come from, for a user who has named none
  // Its examples are labelled: run.json counts them, and the figure that ranks is also called
  // "score", so that tasks of different metrics share one table.
  bool labelled = false;
  ExportForm exported = ExportForm::none;

  // Rows of the schema before the model's section, and after it.
  std::vector<Key> (*keys)() = nullptr;
  std::vector<Key> (*keys_after_model)() = nullptr;

  // The figures of its validations, and which of them ranks checkpoints.
  std::vector<TaskFigure> (*figures)(const Settings& settings) = nullptr;
  std::string_view (*ranked_by)(const Settings& settings) = nullptr;
  // How its own figures are shown; those that several tasks have are in task_facts.cpp.
  std::vector<MetricFacts> metrics;
  // The metrics that a study shows beside its own where it names none.
  std::vector<std::string_view> columns;
};

// Before the names of figures and metrics that are of the weights' moving average.
inline constexpr std::string_view kAveraged = "ema_";

// In the order of TaskKind.
std::span<const TaskFacts> all_task_facts();
const TaskFacts& task_facts(TaskKind task);
// nullptr for an unknown name.
const TaskFacts* find_task(std::string_view name);
// Adds a task beside the built-in ones (a test's, say) and returns its kind. Before anything has
// asked for tasks or keys: from the initialiser of a constant at namespace scope.
TaskKind register_task_facts(TaskFacts facts);

// "loss", for tasks that are ranked by it.
std::string_view by_loss(const Settings& settings);
std::string_view by_accuracy(const Settings& settings);

// The figure by which a task of GLUE is ranked: of the two that the benchmark averages for MRPC,
// QQP and STS-B the one that RoFormer's table has.
std::string_view glue_metric(GlueTask task);

// The name in studies of a figure of the task's validations.
std::string metric_of(const std::string& figure, const Settings& settings);

}  // namespace roformer
