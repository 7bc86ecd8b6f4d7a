// The tasks that there are. A new one is a file here, its line in registry.cpp, its row among the
// facts (config/task_facts.cpp) and its keys in the schema.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "tensor/device.h"
#include "text/tokenizer.h"
#include "training/task.h"

namespace roformer {

// What a task is opened with. A task whose data bring their tokenizer takes neither of these two.
struct TaskSources {
  const Settings& settings;
  const ComputePlan& plan;
  std::filesystem::path stored = {};                   // the run that goes on, with its tokenizer
  std::shared_ptr<const Tokenizer> offered = nullptr;  // that of the model to start from
};

struct OpenedTask {
  std::unique_ptr<TrainingTask> task;  // holds its data
  std::shared_ptr<const Tokenizer> tokenizer;
  // For run.json: the folder and name of the data, and what must be the same when the run goes on
  // (fingerprints, sizes).
  nlohmann::json data;
};

// Opens the data of settings.task and builds its model, freshly initialised. Throws Error for data
// that are not there, damaged or do not fit the settings.
OpenedTask open_task(const TaskSources& sources);

}  // namespace roformer
