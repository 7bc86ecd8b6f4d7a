// What the models of a study came to at several lengths, as trained and with options that leave
// their weights as they are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_table.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {

// A model at a length: the figures of its finished runs (seeds), or why there are none.
struct LengthCell {
  std::int64_t length = 0;
  std::map<std::string, LanguageEvaluation> runs;  // by their names
  std::string reason;
};

struct LengthRow {
  std::string title;    // "rope", "rope, yarn"; "rope (2 of 3)" where that many runs are finished
  bool whole = true;    // of all runs
  std::string scheme;   // it was trained with
  std::string variant;  // "" as trained
  // What its losses are counted in (question_of); "" where that is not known.
  std::string vocabulary = {};
  // Which checkpoints were evaluated, "last" or "best": of every run the one that the figures of
  // its training are of where that is kept, else the other.
  std::set<std::string> weights = {};
  std::vector<LengthCell> cells = {};
};

// Of a study whose lengths are of the test set: the losses of its rows, as they were evaluated,
// become figures of their runs (test_loss_at of config/study_metrics.h), each with its
// "_standard_error".
void add_test_figures(const StudySettings& study, const std::vector<LengthRow>& lengths,
                      std::vector<StudyRow>& rows);

}  // namespace roformer
