// The trainings of a study's tuning, some of which a record may hold already (tune.record), and the
// runs of a protocol (study.version) that a command shows: those that its flags ask for, which are
// made now, and those that earlier commands made, so that the tables grow and no row is made twice.
// A run that was interrupted or failed keeps its place, because a mean over the seeds that
// succeeded is not the mean over all.
#pragma once

#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/recorded_trials.h"
#include "experiments/run_result.h"
#include "experiments/trainings.h"

namespace roformer {

// Whether the record's result is used: only where no finished trial is here.
bool is_taken(const StudyRun& trial, const RecordedTrials& recorded);

// The results of all runs of StudyTuning::study so far.
std::vector<RunResult> trial_results(const StudySettings& trials, const RecordedTrials& recorded);

// Makes the trials that are neither done nor recorded. Throws Error (usage) as run_study does.
Trainings run_trials(const StudySettings& trials, const RecordedTrials& recorded,
                     const TrainingOptions& options);

// The study with the trials of each choice whose trials are all asked for, finished or recorded,
// and with the runs that these choose for. Warns about existing runs that are dropped because some
// of their trials are missing. Other studies, and those without tuning, stay as they are.
StudySettings with_trials_at_hand(const StudySettings& study, const RecordedTrials& recorded);

// After the choices are made: the runs that are asked for, finished or begun. Studies that are no
// protocol stay as they are.
StudySettings with_runs_at_hand(const StudySettings& study);

}  // namespace roformer
