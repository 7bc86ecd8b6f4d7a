// Going on from a run's last whole checkpoint, in one process or in all of a training's.
#pragma once

#include <cstdint>
#include <optional>

#include "config/training_settings.h"
#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/optimizer.h"
#include "training/run_directory.h"
#include "training/training_state.h"
#include "training/training_summary.h"
#include "training/weight_average.h"

namespace roformer {

struct Resumption {
  const RunDirectory& run;
  std::uint64_t seed = 0;
  ParameterStore& parameters;
  AdamW& optimizer;
  WeightAverage* average = nullptr;  // with training.ema
  Processes& processes;
};

// The parameters of the first process become those of all: what made them elsewhere, another
// library of products say, makes no other training.
void share_weights(ParameterStore& parameters, Processes& processes);

// Where the training stands: at its beginning, unless the run is resumed. The parameters, the
// optimiser's moments and the average are then those of the last whole checkpoint; those behind it,
// damaged ones, are set aside. The first process reads, and the others are given, all that. Throws
// Error (failure) where no checkpoint is whole, or the last one is of another seed or another
// model.
TrainingState resume(const Resumption& resumption);

// The summary of a resumed run that has come to its end, by these settings, and was to keep no
// checkpoint of it (training.keep_last: 0): it is not trained again from `step`, where the
// checkpoints end. Where one was kept and is damaged, what is lost is trained again: nothing. The
// first process reads; the others learn that it has ended, not how.
std::optional<TrainingSummary> ended_before(const RunDirectory& run,
                                            const TrainingSettings& settings, std::int64_t step,
                                            Processes& processes);

}  // namespace roformer
