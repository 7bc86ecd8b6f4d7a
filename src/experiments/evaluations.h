// The evaluations of a study: each is a child process `roformer evaluate` whose result stays as a
// file in runs/STUDY/evaluations. A language model is measured at several lengths, as trained and
// with options that do not change its weights; a translator decodes a whole set. An evaluation that
// exists for the same checkpoint, data and flags is not made again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/job_runner.h"
#include "experiments/length_report.h"
#include "experiments/translation_report.h"

namespace roformer {

struct StudyEvaluationOptions {
  std::string program;
  std::int64_t parallel = 1;
  Failures failures = {};  // evaluations that this command has already tried
};

// --- Lengths ---

// Throws Error (usage) before any training for a variant that no run of the study can be evaluated
// as at any length, for example because of a misspelt value.
void require_variants(const StudySettings& study);

// The number of evaluations of a run, if none is refused.
std::size_t expected_evaluations(const StudySettings& study, const StudyRun& run);

// The missing evaluations of one finished run; none if it has no checkpoint. `study` and `program`
// outlive the jobs.
std::vector<Job> evaluation_jobs(const StudySettings& study, const StudyRun& run,
                                 const std::string& program);

struct LengthOutcome {
  std::vector<LengthRow> rows;  // as trained, then variant by variant
  std::size_t failed = 0;       // evaluations
  int signal = 0;               // the signal that stopped them; then there are no rows
};

// Refused evaluations (a table with too few positions, contradictory options) and those without a
// checkpoint are known before anything runs. They become cells with the reason. A damaged
// evaluation is made again.
LengthOutcome evaluate_lengths(const StudySettings& study, const std::vector<StudyRow>& rows,
                               const StudyEvaluationOptions& options);

// --- Translations ---

struct TranslationOutcome {
  StudyTranslations translations;
  std::size_t failed = 0;  // decodings
  int signal = 0;          // the signal that stopped them
};

// Throws Error (failure) if the data of the first run cannot be read.
TranslationOutcome translate_sets(const StudySettings& study, const std::vector<StudyRow>& rows,
                                  const StudyEvaluationOptions& options);

}  // namespace roformer
