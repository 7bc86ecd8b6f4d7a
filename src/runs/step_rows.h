// How the processes of a training share the rows of a step.
#pragma once

#include <cstdint>

#include "config/settings.h"
#include "runs/resume.h"
#include "training/distributed/processes.h"

namespace roformer {

// In run.json of runs whose step has training.batch x training.accumulation rows, shared by all
// processes. In a run without it, the step has so many rows of each process that began the run.
inline constexpr const char* kBatchOf = "batch_of";
inline constexpr const char* kBatchOfStep = "step";

// The number of micro-batches in a step over all processes: training.accumulation, or what an older
// run was begun with. Throws Error (usage) if the present processes cannot share the rows of a step
// evenly.
std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes);

}  // namespace roformer
