// The figures of `roformer evaluate` as a table, JSON, CSV of the loss at each position, and
// charts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/chart.h"
#include "report/table.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {

// One length, in one arrangement of the text.
struct EvaluatedLength {
  std::int64_t length = 0;
  ArrangementSettings arrangement;
  LanguageEvaluation figures;
  std::optional<double> bits_per_character;  // of causal models
  std::optional<double> bits_per_byte;       // of causal models; the text as UTF-8
  // The loss minus the loss of the unchanged text, both at the targets that this arrangement keeps.
  // Empty for the unchanged text.
  std::optional<double> change;
  // The comparison with another model on the same targets, if there is one.
  std::optional<PairedLosses> paired = {};
};

struct EvaluationReport {
  std::string model;      // checkpoint
  std::string data;       // folder
  std::string split;      // "validation" or "test"
  std::string position;   // scheme
  std::string precision;  // that it was evaluated in
  std::int64_t training_length = 0;
  bool causal = false;
  std::string with = {};                  // the flags that change the model, for its header
  nlohmann::ordered_json overrides = {};  // the same
  std::vector<EvaluatedLength> lengths;
  std::optional<PseudoPerplexity> pseudo_perplexity;
  std::string against;  // checkpoint of the other model; empty: none
  int signal = 0;       // that ended it before all was done
};

// "unchanged", "from position 64 on", "30% dropped", "8 shuffled blocks".
std::string describe(const ArrangementSettings& arrangement);

// The change of the loss from `plain` to `arranged` at the positions where `arranged` has losses.
double loss_change(const LanguageEvaluation& plain, const LanguageEvaluation& arranged);

Table to_table(const EvaluationReport& report);
// Every figure with all digits, and the loss at each position if `by_position`.
nlohmann::ordered_json to_json(const EvaluationReport& report, bool by_position);
// The columns length, arrangement, position, targets, mean loss; one line for each position that
// has a loss.
std::string losses_to_csv(const EvaluationReport& report);

// Reads the first evaluation of a file that to_json wrote with the loss at each position. Throws
// nlohmann's exception for any other file.
LanguageEvaluation evaluation_of(const nlohmann::json& report);

LineChart loss_by_length(const EvaluationReport& report);
// Means over neighbouring positions. They turn the few losses of masked models into a line.
Series losses_over_positions(const LanguageEvaluation& figures, std::string name);
LineChart loss_by_position(const EvaluationReport& report);

}  // namespace roformer
