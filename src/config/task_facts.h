// The facts of a task that need no tensors: the shape of its model, its data, its keys and the
// figures of its validations. Each task's facts are in config/tasks/NAME.cpp, without LibTorch.
// Checks of a configuration, studies and commands read these facts and name no task. tasks/
// computes the task.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

struct Key;

// The kind of folder that data.directory names; `generated`: the task makes its data.
// `labelled_files`: the data are data.train and data.validation.
enum class TaskData {
  prepared_text,
  glue_folder,
  labelled_files,
  parallel_text,
  matching_folder,
  generated
};

// The contents of an export to a Hugging Face folder.
enum class ExportForm { none, language_model, classifier, tagger, embedder, translator };

// How a validation figure is displayed.
struct MetricFacts {
  std::string_view name;   // in studies, "masked_accuracy"
  std::string_view title;  // "masked accuracy"
  std::string_view unit;   // "%" or "x100": a share, shown times 100
  int digits = 3;
  bool higher_is_better = false;

  bool is_share() const { return !unit.empty(); }
};
struct FoundMetric {
  MetricFacts facts;  // of the figure
  std::string at;     // "_at_x16", "_at_length_32": the length of the texts that the figure is for
};
// Finds the validation figure with this name in studies; nothing for an unknown name.
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
  bool causal = false;       // its model sees only earlier tokens
  bool has_decoder = false;  // an encoder-decoder: its scheme works in both directions
  TaskData data = TaskData::generated;
  std::string_view data_hint;  // where to get its data, for a user who named none
  // Whether the examples are labelled. If so, run.json counts them, and the figure that ranks is
  // also called "score", so that tasks with different metrics share one table.
  bool labelled = false;
  ExportForm exported = ExportForm::none;

  // Returns the rows of the schema that come before and after the model's section.
  std::vector<Key> (*keys)() = nullptr;
  std::vector<Key> (*keys_after_model)() = nullptr;

  // Returns the figures of the task's validations, and the figure that ranks checkpoints.
  std::vector<TaskFigure> (*figures)(const Settings& settings) = nullptr;
  std::string_view (*ranked_by)(const Settings& settings) = nullptr;
  // How the task's own figures are displayed; task_facts.cpp has those that several tasks share.
  std::vector<MetricFacts> metrics;
  // The metrics that a study shows besides its main one if it names none.
  std::vector<std::string_view> columns;
};

// The prefix of figures and metrics that belong to the moving average of the weights.
inline constexpr std::string_view kAveraged = "ema_";

// The tasks in the order of TaskKind.
std::span<const TaskFacts> all_task_facts();
const TaskFacts& task_facts(TaskKind task);
// Returns nullptr for an unknown name.
const TaskFacts* find_task(std::string_view name);
// Adds a task to the built-in ones, for instance in a test, and returns its kind. Call it before
// anything reads tasks or keys: from the initialiser of a constant at namespace scope.
TaskKind register_task_facts(TaskFacts facts);

// The path of the training data, data.train or data.directory, and the key that names it.
std::string_view data_key(const Settings& settings);
const std::filesystem::path& data_path(const Settings& settings);

// The head itself, or the one that `automatic` means for the scheme and the family of the model.
ClassifierHead resolved_head(ClassifierHead head, const Settings& settings);
// The keys of a classifier's head, in the section of its task, with the head resolved.
ClassifierSettings classifier_settings(const Settings& settings);

// Returns "loss", for tasks that rank their checkpoints by the loss.
std::string_view by_loss(const Settings& settings);
std::string_view by_accuracy(const Settings& settings);

// The figure by which a GLUE task ranks checkpoints. The benchmark averages two figures for MRPC,
// QQP and STS-B; this is the one in RoFormer's table.
std::string_view glue_metric(GlueTask task);

// The name that studies use for a figure of the task's validations.
std::string metric_of(const std::string& figure, const Settings& settings);

}  // namespace roformer
