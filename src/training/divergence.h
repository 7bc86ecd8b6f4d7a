// Tells a training that has diverged from one that had a bad step: steps that are not finite are
// skipped and counted, losses that leap are said, and a training that computes without ever coming
// back is ended, its last good checkpoint kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "training/loss_spikes.h"
#include "training/run_directory.h"
#include "training/training_step.h"

namespace roformer {

// What ends such a training: its settings' doing, and not the world's.
class Diverged : public Error {
 public:
  using Error::Error;
};

class DivergenceWatch {
 public:
  struct StepFigures {
    double loss = 0;
    double gradient_norm = 0;
  };

  // As many bad steps in a row as training.max_bad_steps end a training. `make_room` is called
  // before words appear on the terminal.
  DivergenceWatch(const RunDirectory& run, std::int64_t most_bad_steps,
                  std::function<void()> make_room);

  // A step that was skipped, the one of that many in a row. Throws after too many.
  void skipped(std::int64_t step, const StepFigures& figures, std::int64_t in_row);
  // The loss of a finite step. Throws for a training that has stopped to learn.
  void finite(std::int64_t step, double loss);

  // training.check_finite: throws where the result of a step is not finite. `first` is the first
  // output of a layer that is not, "" for none, in each process.
  void require_finite(std::int64_t step, const StepResult& result,
                      const std::vector<std::string>& first) const;

  // Throws Diverged with what would help and which checkpoint is left.
  [[noreturn]] void diverged(const std::string& what) const;

 private:
  const RunDirectory& run_;
  std::int64_t most_bad_steps_;
  std::function<void()> make_room_;
  LossSpikes spikes_;
  bool was_sound_ = false;  // some loss was that of a training that works
  std::int64_t hopeless_in_row_ = 0;
};

}  // namespace roformer
