// The output of a running training: a live line on a terminal, a plain line now and then elsewhere,
// and in both cases metrics.jsonl and TensorBoard events.
#pragma once

#include <cstdint>

#include "base/progress.h"
#include "report/json_lines.h"
#include "report/tensorboard.h"
#include "training/run_directory.h"
#include "training/training_state.h"

namespace roformer {

// One step, as the live line shows it.
struct StepReport {
  std::int64_t step = 0;
  std::int64_t steps = 0;    // of the training; 0: not known in advance
  double done = 0;           // share of the training, in [0, 1]
  double seconds_left = -1;  // negative: unknown
  double loss = 0;           // mean over the targets
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;  // without padding
  std::int64_t stage = 0;        // from 1; 0: the training has none
};

class TrainingLog {
 public:
  // Cuts metrics and events back to `step`, from which a resumed run trains.
  TrainingLog(const RunDirectory& run, std::int64_t step);

  // True when the live line should be shown now.
  bool live_due() const { return line_.is_terminal() && line_.due(); }
  void live(const StepReport& report);
  // A line of metrics for the window, which ends with this step.
  void window(const StepReport& report, const TrainingState& state);
  void validation(const ValidationRecord& record, bool best);
  // Syncs all lines to the disk, before a checkpoint that counts on them is written.
  void sync() {
    metrics_.sync();
    events_.sync();
  }
  // Erases the live line, so that something else can be printed.
  void clear() { line_.clear(); }

 private:
  StatusLine line_;
  JsonLinesWriter metrics_;
  TensorBoardWriter events_;
};

}  // namespace roformer
