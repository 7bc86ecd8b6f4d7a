// The runs for all combinations of a study's axes, and the trainings of its `tune:` section.
#pragma once

#include <cstddef>
#include <vector>

#include "config/load.h"
#include "config/problems.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_sections.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// Reads each path once, since many combinations start from the same model.
SourceKeys remembered(const SourceKeys& source_keys);

// The run of combination `index`, with the last axis changing fastest. The keys of the axes
// override those of `base`. If a combination contradicts itself, its refusals say why.
StudyRun make_run(const std::vector<MatrixAxis>& axes, std::size_t index,
                  const std::vector<Assignment>& base, const SourceKeys& source_keys,
                  Problems& problems);

// The parts of the axes that are kept after the combinations are formed.
std::vector<StudyAxis> axes_of(const std::vector<MatrixAxis>& axes);

// The trainings of the tuning. Also gives every run of the table its candidates.
StudySettings make_trials(const TuningSection& section, StudySettings& study,
                          const std::vector<MatrixAxis>& axes, const std::vector<Assignment>& base,
                          const SourceKeys& source_keys, Problems& problems);

// Checks that the names in the section exist, and that its seed is not one of the table's.
void check_trials(const TuningSection& section, const std::vector<MatrixAxis>& axes,
                  const std::vector<StudyRun>& trials, const StudySettings& study,
                  Problems& problems);

// The tuning of a study whose runs have their folders. Trials are made beside them.
StudyTuning tuning_of(const TuningSection& section, StudySettings trials,
                      const StudySettings& study);

}  // namespace roformer
