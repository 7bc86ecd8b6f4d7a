// The translations of a study as it shows them: scores with their signatures, a paired bootstrap
// test against the reference row, BLEU by the length of the source, and examples side by side.
#pragma once

#include <string>
#include <vector>

#include "experiments/study_table.h"
#include "experiments/translated_sets.h"
#include "report/chart.h"
#include "report/table.h"

namespace roformer {

struct TranslationReport {
  Table scores{{}};  // a row a model: sacreBLEU's BLEU and chrF2, and the older tokenised BLEU
  std::string scores_caption;
  Table tests{{}};  // against study.reference; no rows without one
  std::string tests_caption;
  LineChart by_length;          // of the source; a line a model
  std::vector<Table> examples;  // source, reference and what the first run of each row made of it
  std::string examples_caption;
  Table missing{{}};  // models without translations, and why
};

// Of the rows that `translations` was made from, in the same order.
TranslationReport translation_report(const StudySettings& study, const std::vector<StudyRow>& rows,
                                     const StudyTranslations& translations);

}  // namespace roformer
