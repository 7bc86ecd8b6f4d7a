// Where a training stands, as state.json of a checkpoint holds it: with the parameters and the
// optimiser's moments, all that is needed to go on as if nothing had happened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/period.h"
#include "config/ranking.h"
#include "training/validation.h"

namespace roformer {

// One validation and when it was.
struct ValidationRecord {
  std::int64_t step = 0;
  double minutes = 0;  // of training so far, validations not counted
  Figures figures = {};
  Ranking ranking = {};

  double ranked() const { return figures.at(ranking.figure); }
  // A validation whose ranking figure or loss is infinite or not a number is the best of nothing:
  // an accuracy of such a loss is one of guesses.
  bool counts() const;
};

// True when a is better than b by the figure that a is ranked by, or by the loss where that is the
// same, as accuracies of a small set often are; what does not count is better than nothing.
bool is_better(const ValidationRecord& a, const ValidationRecord& b);
// The first of the best of those that count, or null.
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
  double loader_seconds = 0;  // of which waiting for data
};

struct TrainingState {
  std::uint64_t seed = 0;
  Consumed consumed = {};
  std::int64_t optimizer_updates = 0;
  std::int64_t skipped_steps = 0;        // non-finite ones so far
  std::int64_t skipped_in_row = 0;       // up to now
  std::int64_t without_improvement = 0;  // validations since the best
  bool validation_due = false;           // was stopped between a step and its validation
  MetricsWindow window = {};
  std::vector<ValidationRecord> validations = {};
  std::int64_t left_out = 0;  // validations that a checkpoint does not hold (stored_state.h)
  std::vector<double> tokens_per_second = {};  // of the last windows
  std::int64_t next_batch = 0;                 // number of the micro-batch that comes next

  // The best validation so far, or null.
  const ValidationRecord* best() const { return best_of(validations); }
  // The validation at the present step, or null.
  const ValidationRecord* current() const;
};

nlohmann::json to_json(const TrainingState& state);
// Checks every field; throws Error (failure, location `file`).
TrainingState training_state_from_json(const nlohmann::json& document, const std::string& file);

nlohmann::json to_json(const ValidationRecord& record);
ValidationRecord validation_from_json(const JsonFields& fields);

// Reads and checks a state.json.
TrainingState read_training_state(const std::filesystem::path& file);

}  // namespace roformer
