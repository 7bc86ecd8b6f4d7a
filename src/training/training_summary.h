// What a training came to, for whoever started it: the command line, and a study that reads it from
// the run's summary.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "training/training_state.h"

namespace roformer {

enum class StopReason {
  finished,  // as long as training.steps says
  patience,  // validations stopped improving
  signal,    // one of StopSignals; it can be resumed
  diverged,  // it can be resumed with other settings
};

struct TrainingSummary {
  StopReason reason = StopReason::finished;
  int signal = 0;               // the one that stopped it
  std::string divergence = {};  // how it was seen
  Consumed consumed = {};       // from the beginning, over all resumptions
  std::int64_t parameters = 0;  // numbers in the model
  std::int64_t skipped_steps = 0;
  double tokens_per_second = 0;  // real tokens, median over the lines of metrics
  // The most that the process held of the host's memory, since it was started; 0: not known.
  std::int64_t peak_memory_bytes = 0;
  std::vector<ValidationRecord> validations = {};  // by rising step; the last is the final one

  // The best of the validations, or null.
  const ValidationRecord* best() const { return best_of(validations); }
};

nlohmann::json to_json(const TrainingSummary& summary);

// Reads RUN/summary.json. Nothing where there is none (the training has not ended); throws Error
// (failure) for one that is not whole.
std::optional<TrainingSummary> read_training_summary(const std::filesystem::path& run);

}  // namespace roformer
