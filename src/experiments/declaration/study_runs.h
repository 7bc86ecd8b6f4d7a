// The runs that the axes of a study multiply to, and the trainings of its `tune:` section.
#pragma once

#include <cstddef>
#include <vector>

#include "config/load.h"
#include "config/problems.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_sections.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// Asks for each path once: many combinations start from the same model.
SourceKeys remembered(const SourceKeys& source_keys);

// The run of combination `index`, the last axis running fastest, with the keys of `base` below
// those of the axes. A combination that contradicts itself says so in its refusals.
StudyRun make_run(const std::vector<MatrixAxis>& axes, std::size_t index,
                  const std::vector<Assignment>& base, const SourceKeys& source_keys,
                  Problems& problems);

// What is kept of the axes once they are multiplied.
std::vector<StudyAxis> axes_of(const std::vector<MatrixAxis>& axes);

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
