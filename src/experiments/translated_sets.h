// What the translators of a study made of a whole set of their data, line by line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace roformer
