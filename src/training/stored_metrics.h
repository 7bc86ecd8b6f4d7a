// Reads a run's metrics.jsonl, which TrainingLog wrote.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/period.h"
#include "config/ranking.h"
#include "training/training_state.h"

namespace roformer {

// The lines of RUN/metrics.jsonl; empty if there is no such file. Throws Error (failure) for a
// damaged one.
std::vector<nlohmann::json> read_metrics(const std::filesystem::path& run);

// The validations among the lines, by rising step. Leaves out those without the figure that ranks.
// `file` is for messages.
std::vector<ValidationRecord> validations_in(const std::vector<nlohmann::json>& lines,
                                             const Ranking& ranking, const std::string& file);

// Whether the line is about training steps, not about a validation.
bool is_training_line(const nlohmann::json& line);
// The length of the training at such a line.
Consumed consumed_at(const nlohmann::json& line);

// The training until now: RUN/summary.json, and without one the validations and the length of
// RUN/metrics.jsonl. `reason` is then signal. Throws Error (failure) for a damaged file.
TrainingSummary summary_so_far(const std::filesystem::path& run, const Ranking& ranking);

}  // namespace roformer
