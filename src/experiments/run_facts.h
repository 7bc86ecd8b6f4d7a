// What tables and charts ask of a study's runs beside their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "experiments/declaration/study_settings.h"

namespace roformer {

// The run of that name, which is there.
const StudyRun& run_named(const StudySettings& study, const std::string& name);

// The place of the seed among the axes; nothing where the study has one seed alone.
std::optional<std::size_t> seed_axis(const StudySettings& study);

// True where the figures of the run are those of its best validation: training.patience ends a run
// some time after that. Of other runs they are those of the last one.
bool shows_best_validation(const StudyRun& run);

// The length that all runs of the study were trained at; nothing where they differ in it.
std::optional<std::int64_t> common_training_length(const StudySettings& study);

}  // namespace roformer
