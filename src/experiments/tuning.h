// The choices of `tune:`. They hold for each row the values of the tuned keys whose trial has the
// best figure, and the settings of the study's runs with these values.
#pragma once

#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_rows.h"
#include "report/table.h"

namespace roformer {

// The choice for the rows that agree in StudyTuning::per.
struct TunedChoice {
  std::vector<std::string> who;     // a value for each of those axes
  std::vector<std::string> values;  // a value for each tuned key; empty: no trial was finished
  bool at_edge = false;             // an extreme of the tried values: a better one may lie beyond
  std::string reason;               // why there is no choice
};

struct TuningResults {
  std::vector<StudyRow> rows;  // the trials, in the order of StudyTuning::study
  std::vector<TunedChoice> choices;
};

// The trials that a choice needs, as far as `results` tell: all, or with StudyTuning::start those
// of its values and the next one beyond the best while that is the least or greatest value needed
// so far. `results` belong to the runs of StudyTuning::study, in their order, as below.
std::vector<bool> needed_trials(const StudyTuning& tuning, const std::vector<RunResult>& results);

TuningResults choose_tuned(const StudyTuning& tuning, const std::vector<RunResult>& results);

// The study with the chosen settings in every run. A run without a choice is refused with the
// reason.
StudySettings with_choices(const StudySettings& study, const TuningResults& results);

// A row for each choice: the figures of the tried values, and the chosen value.
Table tuning_table(const StudyTuning& tuning, const TuningResults& results);

// A sentence about the choices for the report.
std::string tuning_sentence(const StudyTuning& tuning);

}  // namespace roformer
