// What `tune:` comes to: for each row the values of the tuned keys with the best figure among the
// trainings that were made for this, and the settings of the study's runs with these values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// The choice for the rows that agree in StudyTuning::per.
struct TunedChoice {
  std::vector<std::string> who;     // a value of each of those axes
  std::vector<std::string> values;  // a value of each tuned key; empty: no training was finished
  bool at_edge = false;  // of the values that were tried: there may be a better one beyond
  std::string reason;    // where there is no choice
};

struct TuningResults {
  std::vector<StudyRow> rows;  // of StudyTuning::study, in its order
  std::vector<TunedChoice> choices;
};

// `results` of the runs of StudyTuning::study, in their order.
TuningResults choose_tuned(const StudyTuning& tuning, const std::vector<RunResult>& results);

// The study with every run's settings as chosen; a run without a choice is refused and says why.
StudySettings with_choices(const StudySettings& study, const TuningResults& results);

// A row for each choice: what was tried with its figure, and what was chosen.
Table tuning_table(const StudyTuning& tuning, const TuningResults& results);

// What was done, for the report.
std::string tuning_sentence(const StudyTuning& tuning);

}  // namespace roformer
