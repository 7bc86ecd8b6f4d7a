// What `roformer evaluate` and `roformer predict` ask of a task, and what a task answers. The
// commands parse flags and print; everything between is the task's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/split.h"
#include "report/table.h"
#include "tasks/language/arrangement.h"
#include "tasks/task_model.h"

namespace roformer {

// How a figure of a validation is shown, by its name in studies: title, unit, digits, and which end
// of it is the better one. An unknown name is shown with blanks for underscores; if it contains
// "loss" the lowest is the best, else the greatest.
Column figure_column(const std::string& name);

// Prints what an evaluation finds, as it is found.
class EvaluationText {
 public:
  virtual ~EvaluationText() = default;
  virtual void line(const std::string& text) = 0;       // as it is
  virtual void paragraph(const std::string& text) = 0;  // wrapped to the width of the terminal
  virtual void table(const Table& table) = 0;
  // One row of a table whose rows are found one by one; with the first row, the head. `expected`
  // has all rows that there will be, for the widths of the columns.
  virtual void row(const Table& expected, std::size_t row) = 0;
};

// The flags of `roformer evaluate`. A task gets those that its definition lists; the others have
// their defaults.
struct EvaluationRequest {
  std::string data = {};  // another folder of data; empty: the run's own
  Split split = Split::validation;
  std::string against = {};                // another run; empty: none
  std::vector<std::int64_t> lengths = {};  // none: as trained
  std::int64_t tokens = 0;                 // read at most; 0: data.validation_tokens
  std::int64_t questions = 0;              // at each length; 0: as in the run's validations
  ArrangementSettings arrangement = {};    // of the text, beside the text as it stands
  std::int64_t masked_sequences = 0;       // rows for the pseudo-perplexity; 0: it is not wanted
  bool by_position = false;                // the loss at each position
  std::int64_t errors = 0;                 // mistakes to show
  std::string chart = {};                  // files to write; empty: none
  std::string output = {};

  // Opens `against` with what the flags say of how a model computes.
  std::function<OpenedRun()> open_other = {};
  EvaluationText* text = nullptr;  // null where JSON or CSV is printed
};

struct EvaluationResult {
  nlohmann::ordered_json json;
  std::string csv = {};                    // printed in place of text, with by_position
  std::function<void()> write_files = {};  // called after the figures are printed
  std::vector<std::string> warnings = {};  // logged at last
  int signal = 0;                          // that ended it before all was done
  std::string stopped = {};                // "stopped by a signal after 2 of 3 lengths"
};

// The flags of `roformer predict`.
struct PredictionRequest {
  std::string file = "-";       // of texts; -: standard input
  std::string format = "auto";  // tsv or jsonl; auto: by the file
  bool skip_broken = false;     // an empty line answers a line that is no JSON object
  bool json = false;
  std::string glue = {};    // folder of the benchmark whose test sets are predicted; empty: none
  std::string output = {};  // folder of the files for its server
  std::function<void(std::string_view)> print = {};
};

struct AnswerComparison {
  std::int64_t both = 0, only_first = 0, only_second = 0, neither = 0;
  double p_value = 1;  // McNemar's, exact
};

// Whether each answer is right. Throws Error (usage) if the numbers of answers differ.
AnswerComparison compare_answers(const std::vector<bool>& first, const std::vector<bool>& second);

nlohmann::ordered_json to_json(const AnswerComparison& comparison);

// "against runs/other: 12 examples only this run has right, ..."
std::string comparison_text(const AnswerComparison& comparison, const std::string& other);

}  // namespace roformer
