// The results of training steps, and the watch over divergence. Non-finite steps are skipped and
// counted, and leaps of the loss are reported. A training that does not recover is ended; its last
// good checkpoint stays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "training/run_directory.h"
#include "training/training_log.h"
#include "training/training_state.h"
#include "training/training_step.h"

namespace roformer {

// Ends a diverged training. Its settings are to blame, not the environment.
class Diverged : public Error {
 public:
  using Error::Error;
};

// Tells a leap of the loss from the noise of batches. The log reports it, since a run that survives
// a leap is often worse for it.
class LossSpikes {
 public:
  // Takes the finite loss of a step. True if the loss exceeds the mean of the earlier losses by six
  // of their standard deviations and by a fifth of the mean. A spike is reported once, until the
  // losses have come down.
  bool add(double loss);
  double mean() const { return mean_; }  // of the earlier losses, recent ones counting more

 private:
  double mean_ = 0;
  double variance_ = 0;
  std::int64_t count_ = 0;
  bool inside_ = false;
};

class DivergenceWatch {
 public:
  struct StepFigures {
    double loss = 0;
    double gradient_norm = 0;
  };

  // `most_bad_steps` (training.max_bad_steps) bad steps in a row end a training. `make_room` is
  // called before a message is printed.
  DivergenceWatch(const RunDirectory& run, std::int64_t most_bad_steps,
                  std::function<void()> make_room);

  // Reports a skipped step, the `in_row`-th in a row. Throws Diverged after too many.
  void skipped(std::int64_t step, const StepFigures& figures, std::int64_t in_row);
  // Takes the loss of a finite step. Throws Diverged if the training has stopped learning.
  void finite(std::int64_t step, double loss);

  // training.check_finite: throws Diverged if the result of a step is not finite. For each process,
  // `first` has the first layer output that is not finite, or "".
  void require_finite(std::int64_t step, const StepResult& result,
                      const std::vector<std::string>& first) const;

  // Throws Diverged with remedies and the remaining checkpoint.
  [[noreturn]] void diverged(const std::string& what) const;

 private:
  const RunDirectory& run_;
  std::int64_t most_bad_steps_;
  std::function<void()> make_room_;
  LossSpikes spikes_;
  bool was_sound_ = false;  // some loss was that of a working training
  std::int64_t hopeless_in_row_ = 0;
};

// Collects the results of training steps. Their numbers stay on the device until they are needed,
// since reading one waits for the GPU. Then they go into the window of metrics, into TrainingState
// and to DivergenceWatch.
class StepAccount {
 public:
  // Both must outlive it. Calls `sound` whenever a step is known to have left the weights intact.
  StepAccount(TrainingState& state, DivergenceWatch& divergence, std::function<void()> sound);

  // Adds the step that state.consumed.steps has just counted. `stage` counts from 1; 0: no stages.
  void add(StepResult result, double learning_rate, std::int64_t stage);
  // True if no more numbers should wait on the device.
  bool is_full() const;
  // Reads the numbers of all steps that were added. Throws Diverged after too many bad ones.
  void settle();

  // The last settled step, at the speed of the window, without `done` and `seconds_left`.
  StepReport last_step() const;
  // The same with the means over the window's steps. NaN if none counted.
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
