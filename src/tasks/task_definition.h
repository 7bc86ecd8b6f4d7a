// A task is a folder here and a file of facts in config/tasks/. Its folder says everything that
// needs tensors: data, model and loss, how a run is evaluated, predicted from and compared with
// another. Commands, runs and studies ask the definition and name no task.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/task_facts.h"
#include "tasks/evaluation.h"
#include "training/task.h"

namespace roformer {

// The arguments of a task's `open`. A task whose data bring their tokenizer takes neither of the
// last two.
struct TaskSources {
  const Settings& settings;
  const ComputePlan& plan;
  std::filesystem::path stored = {};                   // the run that goes on, with its tokenizer
  std::shared_ptr<const Tokenizer> offered = nullptr;  // the one of the model to start from
};

struct OpenedTask {
  std::unique_ptr<TrainingTask> task;  // holds its data
  std::shared_ptr<const Tokenizer> tokenizer;
  // For run.json: the folder and name of the data, and what must be the same when the run goes on
  // (fingerprints, sizes).
  nlohmann::json data;
};

// Why a task does not take a flag.
struct RefusedFlag {
  std::string_view flag;
  std::string_view reason;
};

struct TaskDefinition {
  TaskKind task = {};
  std::string_view noun;  // what a run of it holds: "classifier"

  // Training: opens the data of settings.task and builds its model, freshly initialised. Throws
  // Error for data that are not there, are damaged or do not fit the settings.
  OpenedTask (*open)(const TaskSources& sources) = nullptr;
  // The data as they lie there now (data_record.h), without their folder.
  nlohmann::json (*data_record)(const Settings& settings) = nullptr;

  // The model of a trained run, whose weights are filled in later.
  std::unique_ptr<TaskModel> (*make_model)(const Settings& settings,
                                           const TranslationVocabularies& vocabularies,
                                           const ComputePlan& plan) = nullptr;
  // The settings with which a trained run is used; none: as they are stored.
  Settings (*settings_for_use)(const Settings& settings) = nullptr;

  // roformer evaluate
  std::vector<std::string_view> evaluate_flags;  // beside --checkpoint, --weights and --json
  std::vector<RefusedFlag> refused_flags;        // each with its reason
  std::vector<Override> evaluated_with;          // the user's overrides come after them
  EvaluationResult (*evaluate)(OpenedRun run, const EvaluationRequest& request) = nullptr;

  // roformer predict; none: the task predicts nothing for new texts.
  std::vector<std::string_view> predict_flags;  // beside those of every task
  void (*predict)(OpenedRun run, const PredictionRequest& request) = nullptr;
  std::string_view instead_of_predict;  // a hint where it cannot; "{}" is the run
};

// Those of config/tasks/list.h, whose folders define `define_NAME`, then what was registered.
const std::vector<TaskDefinition>& task_definitions();
const TaskDefinition& task_definition(TaskKind task);
inline OpenedTask open_task(const TaskSources& sources) {
  return task_definition(sources.settings.task).open(sources);
}
// Adds a task beside the built-in ones (a test's, say), whose facts are registered with
// register_task_facts, before anything has asked for definitions.
void register_task(TaskDefinition definition);

}  // namespace roformer
