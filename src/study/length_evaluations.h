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

#include "config/study_settings.h"
#include "study/study_table.h"
#include "tasks/language_evaluation.h"

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

struct LengthOptions {
  std::string program;
  std::int64_t parallel = 1;
};

struct LengthOutcome {
  std::vector<LengthRow> rows;  // as trained, then variant by variant
  std::size_t failed = 0;       // evaluations
  int signal = 0;               // that stopped them; then there are no rows
};

// The length that all runs of the study were trained at; nothing where they differ in it.
std::optional<std::int64_t> common_training_length(const StudySettings& study);

// What is refused (a table without so many positions, options that contradict each other) and what
// is not there (a run whose checkpoints were removed) is known before anything runs and is a cell
// with the reason. A stored evaluation that is damaged is made again.
LengthOutcome evaluate_lengths(const StudySettings& study, const std::vector<StudyRow>& rows,
                               const LengthOptions& options);

// Of a study whose lengths are of the test set: the losses of its rows, as evaluate_lengths was
// given them, become figures of their runs (test_loss_at of config/study_metrics.h), each with its
// "_standard_error".
void add_test_figures(const StudySettings& study, const std::vector<LengthRow>& lengths,
                      std::vector<StudyRow>& rows);

}  // namespace roformer
