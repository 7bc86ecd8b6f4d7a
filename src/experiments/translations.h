// What the translators of a study make of a set of their data: every run decodes the whole set
// once, as a child process `roformer evaluate`, and the lines stay in runs/STUDY/evaluations.
// Scores, tests, charts and examples are made from them (translation_report.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_table.h"
#include "experiments/translated_sets.h"

namespace roformer {

struct SetTranslationOptions {
  std::string program;
  std::int64_t parallel = 1;
};

struct TranslationOutcome {
  StudyTranslations translations;
  std::size_t failed = 0;  // decodings
  int signal = 0;          // that stopped them
};

// Throws Error (failure) where the data of the first run cannot be read.
TranslationOutcome translate_sets(const StudySettings& study, const std::vector<StudyRow>& rows,
                                  const SetTranslationOptions& options);

}  // namespace roformer
