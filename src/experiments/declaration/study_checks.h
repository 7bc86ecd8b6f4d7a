// Checks across the parts of a study, before anything runs.
#pragma once

#include <string>
#include <vector>

#include "config/problems.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_sections.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// The folders of the study and of its trainings must be names of folders in `runs`.
void check_names(const StudySettings& study, const std::string& file, Problems& problems);

// An axis that study.choose or study.spread (`key`) names must be there.
void require_axis(const std::string& key, const std::string& value,
                  const std::vector<MatrixAxis>& axes, const std::string& file, Problems& problems);

// study.reference must name a row, or the value of one axis. Where flags have `replaced` the values
// of axes it may be gone with them: then the study has none.
void require_reference(const std::vector<MatrixAxis>& axes, bool replaced, StudySettings& study,
                       const std::string& file, Problems& problems);

// "a-b" and "c" make the same name as "a" and "b-c".
void refuse_equal_names(const std::vector<StudyRun>& runs, const std::string& file,
                        Problems& problems);

// A metric that none of the runs has would be an empty column after all of the training.
void refuse_unknown_metrics(const std::vector<NamedMetric>& metrics, const StudySettings& study,
                            Problems& problems);

// The loss of word frequencies needs prepared text, and is compared only with losses and bits.
void check_reference_lines(const StudySettings& study, const std::string& file, Problems& problems);

// Language models are evaluated at lengths; translators decode a split.
void check_evaluations(const StudySettings& study, const std::string& file, Problems& problems);

// Refuses an option of a scheme that a value of an axis sets but none of its runs uses. Those runs
// would repeat another value's runs under a different name.
void refuse_idle_options(const std::vector<MatrixAxis>& axes, const std::vector<StudyRun>& runs,
                         Problems& problems);

// If a key has no effect in a combination, only its first value is run. The other values would be
// the same run under other names and are refused with the reason.
void refuse_idle_repeats(const std::vector<MatrixAxis>& axes, std::vector<StudyRun>& runs);

// Contradictory combinations become rows that say so, unless no combination can be run.
void report_refusals(const std::vector<StudyRun>& runs, Problems& problems);

}  // namespace roformer
