// The validations of a training: what they come to, of the weights and beside them of their moving
// average, and how each stands among those before it.
#pragma once

#include <functional>
#include <string>

#include "config/ranking.h"
#include "config/training_settings.h"
#include "training/distributed/processes.h"
#include "training/task.h"
#include "training/training_state.h"
#include "training/weight_average.h"

namespace roformer {

class Validations {
 public:
  struct Parts {
    TrainingTask& task;
    const TrainingSettings& settings;
    Processes& processes;
    WeightAverage* average = nullptr;  // of the weights, where one is kept
    Ranking ranking;                   // by a figure that the task has
    std::function<void()> make_room;   // before words appear on the terminal
  };
  struct Outcome {
    bool is_best = false;  // of all so far
    bool is_kept = false;  // one of the best, whose checkpoints are kept
  };

  explicit Validations(Parts parts);

  // Validates where the training stands and adds the record to the state. Throws ValidationStopped,
  // and the state is as it was, where a signal ends it first.
  Outcome make(TrainingState& state);

 private:
  Parts parts_;

  Figures figures();
};

}  // namespace roformer
