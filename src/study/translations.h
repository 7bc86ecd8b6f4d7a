// What the translators of a study make of a set of their data: every run decodes the whole set
// once, as a child process `roformer evaluate`, and the lines stay in runs/STUDY/evaluations.
// Scores, tests, charts and examples are made from them (translation_report.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/study_settings.h"
#include "study/study_table.h"

namespace roformer {

struct TranslatedSet {
  std::string run;                 // its name
  std::vector<std::string> lines;  // one a sentence
};

struct TranslationRow {
  std::string title;
  std::vector<std::string> labels;  // as of the StudyRow
  std::vector<TranslatedSet> runs;  // in the order of the StudyRow's, by seed
  std::string reason;               // why there are none
};

struct StudyTranslations {
  std::string split;            // "validation" or "test"
  std::uint64_t data = 0;       // fingerprint of the data that the set is of
  std::string target_language;  // "de"
  std::vector<std::string> sources, references;
  std::vector<TranslationRow> rows;  // in the order of the study's
};

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
