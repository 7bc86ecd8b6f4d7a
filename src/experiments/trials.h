// The trainings of a study's tuning: made here, but for those that a record holds (tune.record).
#pragma once

#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/protocol_record.h"
#include "experiments/run_result.h"
#include "experiments/trainings.h"

namespace roformer {

// Whether the record stands for it. What was finished here stands for itself.
bool is_taken(const StudyRun& trial, const RecordedTrials& recorded);

// What is known of each of StudyTuning::study's runs.
std::vector<RunResult> trial_results(const StudySettings& trials, const RecordedTrials& recorded);

// Runs what is neither done nor recorded. Throws Error (usage) as run_study does.
Trainings run_trials(const StudySettings& trials, const RecordedTrials& recorded,
                     const TrainingOptions& options);

}  // namespace roformer
