// The progress of a training: the state that a checkpoint holds (state.json), its validations, and
// the summary that a finished training leaves (summary.json). Resuming needs only the state, the
// parameters and the optimiser's moments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/period.h"
#include "config/ranking.h"

namespace roformer {

// The named figures of a validation: "loss", "accuracy", ... The standard error of a figure is
// another figure, whose name ends in kStandardError.
using Figures = std::map<std::string, double>;
inline constexpr const char* kStandardError = "_standard_error";

// "accuracy 0.3120  loss 4.7550 ± 0.0123": each figure with its standard error, if it has one.
std::string describe_figures(const Figures& figures, const std::string& separator);

struct ValidationRecord {
  std::int64_t step = 0;
  double minutes = 0;  // of training so far, without validations
  Figures figures = {};
  Ranking ranking = {};

  double ranked() const { return figures.at(ranking.figure); }
  // False if the ranking figure or the loss is infinite or NaN. Such a validation is never the
  // best: an accuracy with such a loss is a result of guesses.
  bool counts() const;
};

// True if a is better than b by the figure that ranks a. If the figures are equal (often in small
// sets), the loss decides. A validation that does not count is worse than one that counts.
bool is_better(const ValidationRecord& a, const ValidationRecord& b);
// The first of the best validations that count, or null.
const ValidationRecord* best_of(const std::vector<ValidationRecord>& validations);

// Sums since the last line of metrics.
struct MetricsWindow {
  double loss_sum = 0;
  double norm_sum = 0;
  std::int64_t targets = 0;
  std::int64_t tokens = 0;
  std::int64_t steps = 0;
  std::int64_t skipped = 0;
  double seconds = 0;
  double loader_seconds = 0;  // the part of `seconds` spent waiting for data
};

struct TrainingState {
  std::uint64_t seed = 0;
  Consumed consumed = {};
  std::int64_t optimizer_updates = 0;
  std::int64_t skipped_steps = 0;        // non-finite steps so far
  std::int64_t skipped_in_row = 0;       // the latest ones in a row
  std::int64_t without_improvement = 0;  // validations since the best
  bool validation_due = false;           // stopped between a step and its validation
  MetricsWindow window = {};
  std::vector<ValidationRecord> validations = {};
  std::int64_t left_out = 0;                   // validations that a checkpoint does not hold
  std::vector<double> tokens_per_second = {};  // of the last windows
  std::int64_t next_batch = 0;                 // number of the next micro-batch

  // The best validation so far, or null.
  const ValidationRecord* best() const { return best_of(validations); }
  // The validation at the present step, or null.
  const ValidationRecord* current() const;
};

nlohmann::json to_json(const TrainingState& state);
// Checks every field; throws Error (failure, location `file`).
TrainingState training_state_from_json(const nlohmann::json& document, const std::string& file);
inline constexpr const char* kStateFile = "state.json";  // of a checkpoint
// Reads and checks that of a checkpoint.
TrainingState read_training_state(const std::filesystem::path& checkpoint);

// A long training has thousands of validations. state.json keeps this many of the best and of the
// last, which decide what is saved and when to stop. All are in the run's metrics.jsonl.
inline constexpr std::size_t kStoredValidations = 32;
// The JSON of state.json, with those validations only.
nlohmann::json to_stored_json(const TrainingState& state);
// Reads the validations that a checkpoint leaves out from metrics.jsonl. Warns with the number of
// missing ones.
void complete_validations(TrainingState& state, const std::filesystem::path& metrics);

enum class StopReason {
  finished,  // training.steps is reached
  patience,  // validations stopped improving
  signal,    // one of StopSignals; it can be resumed
  diverged,  // it can be resumed with other settings
};

struct TrainingSummary {
  StopReason reason = StopReason::finished;
  int signal = 0;               // the one that stopped it
  std::string divergence = {};  // the sign of divergence that ended it
  Consumed consumed = {};       // from the beginning, over all resumptions
  std::int64_t parameters = 0;  // numbers in the model
  std::int64_t skipped_steps = 0;
  double tokens_per_second = 0;        // without padding, median over the lines of metrics
  std::int64_t peak_memory_bytes = 0;  // host memory of the process since its start; 0: unknown
  std::vector<ValidationRecord> validations = {};  // by rising step; the last is the final one

  // The best of the validations, or null.
  const ValidationRecord* best() const { return best_of(validations); }
};

nlohmann::json to_json(const TrainingSummary& summary);

// Reads RUN/summary.json. Empty if the training has not ended. Throws Error (failure) for an
// incomplete file.
std::optional<TrainingSummary> read_training_summary(const std::filesystem::path& run);

}  // namespace roformer
