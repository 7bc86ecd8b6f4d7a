// The losses of a study's models at several lengths, as trained and with options that do not change
// their weights: rows, tables and charts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_rows.h"
#include "report/chart.h"
#include "report/table.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {

// A model at one length: the figures of its finished runs (seeds), or the reason why there are
// none.
struct LengthCell {
  std::int64_t length = 0;
  std::map<std::string, LanguageEvaluation> runs;  // by name
  std::string reason;
};

struct LengthRow {
  std::string title;            // "rope", "rope, yarn"; "rope (2 of 3)" where only two are finished
  bool whole = true;            // all runs are finished
  std::string scheme;           // of the training
  std::string variant;          // "" as trained
  std::string vocabulary = {};  // question_of(): losses of different ones cannot be compared
  std::set<std::string> weights = {};  // evaluated checkpoints: "last", "best"
  std::vector<LengthCell> cells = {};
};

// In a study whose lengths are those of the test set, the losses become figures of the runs
// (test_loss_at), each with its "_standard_error".
void add_test_figures(const StudySettings& study, const std::vector<LengthRow>& lengths,
                      std::vector<StudyRow>& rows);

// A row for each model or variant, a column for each length. If all rows have the same training
// length, a length shows its multiple of it: "256 (2x)".
Table length_table(const std::vector<LengthRow>& rows, std::optional<std::int64_t> training_length);

// The text that says which checkpoints were evaluated.
std::string weights_sentence(const std::vector<LengthRow>& rows);

// The cells without figures, with the reasons.
Table missing_lengths(const std::vector<LengthRow>& rows);

// Pairs of charts: loss by length, and loss at each position of the longest evaluated text. One
// pair for the models as trained, then one for each scheme with variants.
std::vector<LineChart> length_charts(const std::vector<LengthRow>& rows,
                                     std::optional<std::int64_t> training_length);

}  // namespace roformer
