// Restores the state of a training from its run's last whole checkpoint, in all of its processes.
// Before, runs/run_settings.h has read the stored settings, and runs/resume.h compared the data.
#pragma once

#include <cstdint>
#include <optional>

#include "config/training_settings.h"
#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/optimizer.h"
#include "training/run_directory.h"
#include "training/training_state.h"
#include "training/weight_average.h"

namespace roformer {

struct Resumption {
  const RunDirectory& run;
  std::uint64_t seed = 0;
  ParameterStore& parameters;
  Optimizer& optimizer;
  WeightAverage* average = nullptr;  // with training.ema
  Processes& processes;
};

// Copies the parameters of the first process to all others, which may have computed slightly
// different initial values (another matrix library, for instance).
void share_weights(ParameterStore& parameters, Processes& processes);

// The state from which to train: that of step 0, or of the resumed run. For a resumed run, restores
// parameters, moments and average from the last complete checkpoint and sets damaged later ones
// aside. The first process reads and sends everything to the others. Throws Error (failure) if no
// checkpoint is complete, or if the last complete one has another seed or another model.
TrainingState resume(const Resumption& resumption);

// The summary of a resumed run that has already ended under these settings, if the run kept no
// checkpoint of its end (training.keep_last: 0). Such a run must not train again from `step`, its
// last checkpoint. Empty if training should go on. The first process reads the summary; the others
// return an empty one.
std::optional<TrainingSummary> ended_before(const RunDirectory& run,
                                            const TrainingSettings& settings, std::int64_t step,
                                            Processes& processes);

}  // namespace roformer
