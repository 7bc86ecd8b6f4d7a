// The training loop, the same for every task: takes batches, makes steps of the optimiser, writes
// metrics, validations and checkpoints. A run that was stopped or killed resumes from its last
// whole checkpoint; on a CPU with the same number of threads its losses are bitwise those of a run
// that was never stopped.
#pragma once

#include <cstdint>
#include <span>

#include "config/data_lists.h"
#include "config/training_settings.h"
#include "data/prefetcher.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"
#include "training/task.h"
#include "training/training_state.h"

namespace roformer {

struct TrainerSetup {
  const TrainingSettings& settings;
  std::span<const StageSettings> stages = {};  // empty: a training without stages
  std::uint64_t seed = 0;
  Ranking ranking = {};           // of the validations, by one of the task's figures
  const RunDirectory& run;        // resumed() decides whether training starts from a checkpoint
  PrefetchOptions prefetch = {};  // how batches are made ahead
  // The processes of this training; null: this one alone. The first reads and writes the run and
  // tells the others.
  Processes* processes = nullptr;
  // The number of micro-batches in a step, over all processes; 0: training.accumulation.
  std::int64_t micro_batches = 0;
};

// Trains until training.steps, patience or a signal, and writes a checkpoint and summary.json. A
// finished training is validated at its end, whatever the periods say. The task's parameters must
// be flat and freshly initialised; afterwards they are those of the last step. Throws Error
// (failure) for a full disk, unusable checkpoints, too many non-finite steps in a row, or weights
// that are not finite, which are never saved.
TrainingSummary train(TrainingTask& task, const TrainerSetup& setup);

}  // namespace roformer
