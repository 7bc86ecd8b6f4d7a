// The trainings that the `tune:` section of a study takes, and the choices that they leave to its
// runs.
#pragma once

#include <vector>

#include "config/load.h"
#include "config/problems.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/declaration/study_tuning.h"

namespace roformer {

// The trainings; gives every run of the table its candidates.
StudySettings make_trials(const TuningSection& section, StudySettings& study,
                          const std::vector<MatrixAxis>& axes, const std::vector<Assignment>& base,
                          const SourceKeys& source_keys, Problems& problems);

// What the section names must be there, and its seed must not be one of the table's.
void check_trials(const TuningSection& section, const std::vector<MatrixAxis>& axes,
                  const std::vector<StudyRun>& trials, const StudySettings& study,
                  Problems& problems);

// The tuning of a study whose runs have their folders: trials are made beside them.
StudyTuning tuning_of(const TuningSection& section, StudySettings trials,
                      const StudySettings& study);

}  // namespace roformer
