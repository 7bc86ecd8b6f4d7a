// What the steps of a training have come to. Their numbers stay on the device until someone looks:
// reading one waits for a GPU. They are then counted into the window of metrics, into what a
// checkpoint keeps of them (TrainingState), and shown to the watch over divergence.
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
  // Both outlive it. `sound` is called once it is known that a step did no harm to the weights.
  StepAccount(TrainingState& state, DivergenceWatch& divergence, std::function<void()> sound);

  // A step as it was computed, the one after which the state's consumed steps are counted;
  // `stage` is counted from 1, 0 without stages.
  void add(StepResult result, double learning_rate, std::int64_t stage);
  // More numbers should not wait on the device.
  bool is_full() const;
  // Reads the numbers of all steps that were added. Throws Diverged after too many bad ones.
  void settle();

  // The last step that was settled, at the speed of the window; all but `done` and `seconds_left`.
  StepReport last_step() const;
  // The same with the means over the window's steps; NaN where none counted.
  StepReport window() const;
  // Behind the window that was reported a new one begins.
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
  std::int64_t sound_steps_ = 0;  // of this session
  StepReport report_;

  void count_skipped(std::int64_t step, double norm);
};

}  // namespace roformer
