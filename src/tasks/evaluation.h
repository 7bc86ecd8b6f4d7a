// The questions that `roformer evaluate` and `roformer predict` ask a task, and the task's answers.
// The commands parse flags and print; the task does everything else.
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

// How to show a figure of a validation, found by its name in studies: title, unit, digits, and
// whether a low or a high value is better. An unknown name is shown with spaces for underscores. If
// the name contains "loss", lower is better, else higher.
Column figure_column(const std::string& name);

// Prints the results of an evaluation as it finds them.
class EvaluationText {
 public:
  virtual ~EvaluationText() = default;
  virtual void line(const std::string& text) = 0;       // printed unchanged
  virtual void paragraph(const std::string& text) = 0;  // wrapped to the width of the terminal
  virtual void table(const Table& table) = 0;
  // Prints one row of a table whose rows are found one by one, and prints the head before the first
  // row. `expected` has all rows that the table will have; it sets the widths of the columns.
  virtual void row(const Table& expected, std::size_t row) = 0;
};

// The flags of `roformer evaluate`. A task gets those that its definition lists; the others keep
// their defaults.
struct EvaluationRequest {
  std::string data = {};  // another folder of data; empty: the run's own
  Split split = Split::validation;
  std::string against = {};                // another run; empty: none
  std::vector<std::int64_t> lengths = {};  // none: as trained
  std::int64_t tokens = 0;                 // read at most this many; 0: data.validation_tokens
  std::int64_t questions = 0;              // per length; 0: as in the run's validations
  ArrangementSettings arrangement = {};    // how to rearrange the text for a second pass
  std::int64_t masked_sequences = 0;       // rows for the pseudo-perplexity; 0: do not compute it
  bool by_position = false;                // the loss at each position
  std::int64_t errors = 0;                 // mistakes to show
  std::string chart = {};                  // files to write; empty: none
  std::string output = {};

  // Opens the run `against` with the flags that change how a model computes.
  std::function<OpenedRun()> open_other = {};
  EvaluationText* text = nullptr;  // null where JSON or CSV is printed
};

struct EvaluationResult {
  nlohmann::ordered_json json;
  std::string csv = {};                    // printed in place of text, with by_position
  std::function<void()> write_files = {};  // called after the figures are printed
  std::vector<std::string> warnings = {};  // logged at the end
  int signal = 0;                          // the signal that ended the evaluation early
  std::string stopped = {};                // "stopped by a signal after 2 of 3 lengths"
};

// The flags of `roformer predict`.
struct PredictionRequest {
  std::string file = "-";  // of texts; -: standard input
  // tsv, jsonl or csv, for a tagger conll or text; auto: by the file
  std::string format = "auto";
  bool skip_broken = false;  // print an empty line for a line that is no JSON object
  bool json = false;
  std::string glue = {};    // folder of the benchmark whose test sets to predict; empty: none
  std::string output = {};  // folder for the files that go to its server
  std::function<void(std::string_view)> print = {};
};

struct AnswerComparison {
  std::int64_t both = 0, only_first = 0, only_second = 0, neither = 0;
  double p_value = 1;  // McNemar's exact test
};

// Whether each answer is right. Throws Error (usage) if the numbers of answers differ.
AnswerComparison compare_answers(const std::vector<bool>& first, const std::vector<bool>& second);

nlohmann::ordered_json to_json(const AnswerComparison& comparison);

// "against runs/other: 12 examples only this run has right, ..."
std::string comparison_text(const AnswerComparison& comparison, const std::string& other);

}  // namespace roformer
