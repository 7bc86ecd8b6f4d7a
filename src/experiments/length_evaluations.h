// The evaluations of a study: every trained model at several lengths, as it is and with options
// that leave its weights as they are, each a child process `roformer evaluate` whose figures stay
// in runs/STUDY/evaluations. One that was done for the same checkpoint and data is not done again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/length_rows.h"
#include "experiments/stored_work.h"
#include "experiments/study_table.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {

struct LengthOptions {
  std::string program;
  std::int64_t parallel = 1;
  Failures failures = {};  // of this command
};

struct LengthOutcome {
  std::vector<LengthRow> rows;  // as trained, then variant by variant
  std::size_t failed = 0;       // evaluations
  int signal = 0;               // that stopped them; then there are no rows
};

// Throws Error (usage) for a variant that no run of the study can be evaluated as, whatever the
// length, as for a misspelt value: before anything is trained.
void require_variants(const StudySettings& study);

// How many evaluations a run will have, but for what is refused.
std::size_t expected_evaluations(const StudySettings& study, const StudyRun& run);

// The evaluations of one run, which is finished, that are not there yet: none where it has no
// checkpoint. `study` and `program` outlive the jobs.
std::vector<Job> evaluation_jobs(const StudySettings& study, const StudyRun& run,
                                 const std::string& program);

// What is refused (a table without so many positions, options that contradict each other) and what
// is not there (a run whose checkpoints were removed) is known before anything runs and is a cell
// with the reason. A stored evaluation that is damaged is made again.
LengthOutcome evaluate_lengths(const StudySettings& study, const std::vector<StudyRow>& rows,
                               const LengthOptions& options);

}  // namespace roformer
