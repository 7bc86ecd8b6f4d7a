// A task is a folder here and a file of facts in config/tasks/. The folder holds everything that
// needs tensors: the data, the model, the loss, and how to evaluate a run, predict with it and
// compare it with another. Commands, runs and studies ask the definition and name no task.
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

// The arguments of a task's `open`. A task whose data include their tokenizer ignores the last two.
struct TaskSources {
  const Settings& settings;
  const ComputePlan& plan;
  std::filesystem::path stored = {};                   // the tokenizer of the run that continues
  std::shared_ptr<const Tokenizer> offered = nullptr;  // the tokenizer of the model to start from
};

struct OpenedTask {
  std::unique_ptr<TrainingTask> task;  // holds its data
  std::shared_ptr<const Tokenizer> tokenizer;
  // Written to run.json: the folder and name of the data, and the values that must stay the same
  // when the run continues (fingerprints, sizes).
  nlohmann::json data;
};

// Why a task does not accept a flag.
struct RefusedFlag {
  std::string_view flag;
  std::string_view reason;
};

struct TaskDefinition {
  TaskKind task = {};
  std::string_view noun;  // what a run holds: "classifier"

  // Fills in the settings that the data decide, such as the names of the classes, for a training
  // whose settings leave them open. Null: there are none.
  Settings (*complete)(const Settings& settings) = nullptr;

  // Opens the data of settings.task for a training and builds its freshly initialised model. Throws
  // Error if data are missing, damaged or do not fit the settings.
  OpenedTask (*open)(const TaskSources& sources) = nullptr;
  // The data as they are now (data_record.h), without their folder.
  nlohmann::json (*data_record)(const Settings& settings) = nullptr;

  // The model of a trained run. The caller fills in the weights later.
  std::unique_ptr<TaskModel> (*make_model)(const Settings& settings,
                                           const TranslationVocabularies& vocabularies,
                                           const ComputePlan& plan) = nullptr;
  // The settings for using a trained run. If it is empty, the stored settings are used.
  Settings (*settings_for_use)(const Settings& settings) = nullptr;

  // roformer evaluate
  std::vector<std::string_view> evaluate_flags;  // beside --checkpoint, --weights and --json
  std::vector<RefusedFlag> refused_flags;        // with the reason for each
  std::vector<Override> evaluated_with;          // applied before the user's overrides
  EvaluationResult (*evaluate)(OpenedRun run, const EvaluationRequest& request) = nullptr;

  // roformer predict. Empty if the task predicts nothing for new texts.
  std::vector<std::string_view> predict_flags;  // in addition to those of every task
  void (*predict)(OpenedRun run, const PredictionRequest& request) = nullptr;
  std::string_view instead_of_predict;  // a hint if it cannot; "{}" is the run
};

// `make_model` for a model that reads one text.
template <class Model>
std::unique_ptr<TaskModel> make_model_of(const Settings& settings,
                                         const TranslationVocabularies& vocabularies,
                                         const ComputePlan& plan) {
  return std::make_unique<Model>(settings, vocabularies.source, plan);
}

// The tasks of config/tasks/list.h, whose folders define `define_NAME`, then the registered ones.
const std::vector<TaskDefinition>& task_definitions();
const TaskDefinition& task_definition(TaskKind task);
inline OpenedTask open_task(const TaskSources& sources) {
  return task_definition(sources.settings.task).open(sources);
}
// Adds a task to the built-in ones (for example in a test). Register its facts with
// register_task_facts. Call it before anything asks for definitions.
void register_task(TaskDefinition definition);

}  // namespace roformer
