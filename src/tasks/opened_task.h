// What a task is opened with, and what comes of it: the types between the registry and the tasks.
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

}  // namespace roformer
