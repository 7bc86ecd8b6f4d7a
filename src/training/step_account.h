// Collects the results of training steps. Their numbers stay on the device until they are needed,
// since reading one waits for the GPU. Then they are added to the window of metrics and to
// TrainingState, and DivergenceWatch sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "training/divergence.h"
#include "training/training_log.h"
#include "training/training_state.h"
#include "training/training_step.h"

namespace roformer {

class StepAccount {
 public:
  // Both outlive it. `sound` is called whenever a step is known to have done the weights no harm.
  StepAccount(TrainingState& state, DivergenceWatch& divergence, std::function<void()> sound);

  // Adds the step that state.consumed.steps has just counted. `stage` counts from 1; 0: no stages.
  void add(StepResult result, double learning_rate, std::int64_t stage);
  // True where no more numbers should wait on the device.
  bool is_full() const;
  // Reads the numbers of all steps that were added. Throws Diverged after too many bad ones.
  void settle();

  // The last step that was settled, at the speed of the window; all but `done` and `seconds_left`.
  StepReport last_step() const;
  // The same with the means over the window's steps; NaN where none counted.
  StepReport window() const;
  // Starts a new window.
  void close_window();

 private:
  struct Unsettled {
    std::int64_t step = 0;
    StepResult result;
  };

  TrainingState& state_;
  DivergenceWatch& divergence_;
  std::function<void()> sound_;
  std::vector<Unsettled> unsettled_;
  std::int64_t sound_steps_ = 0;  // in this session
  StepReport report_;

  void count_skipped(std::int64_t step, double norm);
};

}  // namespace roformer
