// Trials of a study's tuning that a record of its protocol holds already (tune.record): who adds a
// seed to a published row goes on with what was chosen for it, instead of choosing again.
#pragma once

#include <map>
#include <string>

#include "experiments/declaration/study_settings.h"
#include "experiments/run_result.h"

namespace roformer {

// By the trial's name.
using RecordedTrials = std::map<std::string, RunResult>;

// Those that came to an end, finished or diverged, and that the study would make alike: of the same
// version, recipe, data and options of the scheme. Empty without tune.record; says in the log why
// it takes nothing of a record. Throws Error (failure) for a file that is no record of a protocol.
RecordedTrials recorded_trials(const StudySettings& study);

}  // namespace roformer
