// The runs that the axes of a study multiply to.
#pragma once

#include <cstddef>
#include <vector>

#include "config/load.h"
#include "config/problems.h"
#include "experiments/declaration/study_axis.h"
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

}  // namespace roformer
