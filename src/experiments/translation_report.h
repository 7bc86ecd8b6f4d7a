// The translations of a study, and how to show them: scores with their signatures, paired tests
// against the reference row, BLEU by the length of the source, and examples.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/study_rows.h"
#include "report/chart.h"
#include "report/table.h"

namespace roformer {

// A whole set as one run translated it.
struct TranslatedSet {
  std::string run;
  std::vector<std::string> lines;  // one for each sentence
};

struct TranslationRow {
  std::string title;
  std::vector<std::string> labels;  // of the StudyRow
  std::vector<TranslatedSet> runs;  // in the StudyRow's order, by seed
  std::string reason;               // why there are none
};

struct StudyTranslations {
  std::string split;            // "validation" or "test"
  std::uint64_t data = 0;       // fingerprint of the set's data
  std::string target_language;  // "de"
  std::vector<std::string> sources, references;
  std::vector<TranslationRow> rows;  // in the study's order
};

struct TranslationReport {
  Table scores{{}};  // for each model sacreBLEU's BLEU and chrF2, and the older tokenised BLEU
  std::string scores_caption;
  Table tests{{}};  // against study.reference; empty without one
  std::string tests_caption;
  LineChart by_length;          // of the source; a line for each model
  std::vector<Table> examples;  // source, reference and the translation by each row's first run
  std::string examples_caption;
  Table missing{{}};  // models without translations, and why
  // By the run's name: its "test_bleu", "test_chrf" and "test_bleu_compound_split", whose means are
  // in `scores`. Then the signature of each figure.
  std::map<std::string, std::map<std::string, double>> figures;
  std::map<std::string, std::string> signatures;
};

// `translations` were made from `rows`, in the same order.
TranslationReport translation_report(const StudySettings& study, const std::vector<StudyRow>& rows,
                                     const StudyTranslations& translations);

}  // namespace roformer
