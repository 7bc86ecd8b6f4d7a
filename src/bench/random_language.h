// A language model trained on random tokens, as benchmarks do: masked or causal, as settings.task
// says.
#pragma once

#include <memory>

#include "config/settings.h"
#include "tensor/device.h"
#include "training/task.h"

namespace roformer {

// settings.model.vocabulary must be set.
std::unique_ptr<TrainingObjective> random_language(const Settings& settings,
                                                   const ComputePlan& plan);

}  // namespace roformer
