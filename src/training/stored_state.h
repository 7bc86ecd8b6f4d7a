// What of a training's state goes into a checkpoint. A long training has thousands of validations:
// state.json keeps the last of them and the best, which decide what is saved and when to stop. All
// of them are lines of the run's metrics.jsonl, and come back from there when the run goes on.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "training/training_state.h"

namespace roformer {

// Of the best and of the last validations, so many at most.
inline constexpr std::size_t kStoredValidations = 32;

// As state.json holds it.
nlohmann::json to_stored_json(const TrainingState& state);

// Puts the validations back that the checkpoint has left out. Where the file lacks some of them,
// a warning says how many, and the training goes on without.
void complete_validations(TrainingState& state, const std::filesystem::path& metrics);

}  // namespace roformer
