// The training loop: batches in, steps of the optimiser, metrics, validations and checkpoints out,
// the same for every task. A run that was stopped or killed goes on from its last whole checkpoint;
// on a CPU with the same number of threads its losses are bitwise those of a run never stopped.
#pragma once

#include <cstdint>
#include <span>

#include "config/data_lists.h"
#include "config/training_settings.h"
#include "data/prefetcher.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"
#include "training/task.h"
#include "training/training_summary.h"

namespace roformer {

struct TrainerSetup {
  const TrainingSettings& settings;
  std::span<const StageSettings> stages = {};  // empty: one, of the settings
  std::uint64_t seed = 0;
  Ranking ranking = {};           // of the validations, by a figure that the task has
  const RunDirectory& run;        // resumed() decides whether training goes on from a checkpoint
  PrefetchOptions prefetch = {};  // how batches are made ahead
  // The processes of this training; null: this one alone. The first writes the run, all others
  // take what it has read.
  Processes* processes = nullptr;
  std::int64_t micro_batches = 0;  // of a step, of all processes; 0: training.accumulation of each
};

// Trains until training.steps, patience or a signal, and leaves a checkpoint and summary.json in
// the run. A training that has come to its end is validated there, whatever the periods say. The
// task's parameters must be flat and freshly initialised, and are the last step's afterwards.
// Throws Error (failure) for a disk that is full, checkpoints that cannot be used, too many
// non-finite steps in a row, or weights that are not finite, which are never saved.
TrainingSummary train(TrainingTask& task, const TrainerSetup& setup);

}  // namespace roformer
