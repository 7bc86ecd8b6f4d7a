// `roformer predict` for tasks that answer texts or pairs of texts: the rows of a file, and after
// them the columns of the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/labelled_texts.h"
#include "data/table_reader.h"
#include "tasks/evaluation.h"

namespace roformer {

struct GivenText {
  std::string first;
  std::optional<std::string> second;  // of pairs
};

struct TextAnswer {
  std::vector<std::string> cells;  // for CSV and TSV, one for each of TextQuestions::columns
  nlohmann::ordered_json fields;   // for JSON
};

// The columns that a task reads and writes, and the function that answers texts.
struct TextQuestions {
  std::vector<std::string> columns;      // names of the answers' columns
  std::vector<std::string> usual_names;  // one of them makes the first line of a file its header
  // Names for the columns of a text file without a header: a text a line (`single`) or two with a
  // tab between them (`pair`). Empty: the task does not read such lines.
  std::vector<std::string> single, pair;
  std::function<TextColumns(const TableReader&)> find_columns;
  // The answers to some texts, in their order. Adds to `cut` how many were cut at data.length.
  std::function<std::vector<TextAnswer>(const std::vector<GivenText>&, std::int64_t& cut)> answer;
};

// Reads request.file and prints each row with its answer: CSV and TSV with a header, JSON Lines as
// objects. An answer replaces a column of the same name, with a warning. A blank line before other
// lines, and a line that is left out, are answered by an empty line. Throws Error as TableReader
// does, and Error (failure) for a text file with another number of columns.
void answer_texts(const TextQuestions& questions, const Settings& settings,
                  const PredictionRequest& request);

}  // namespace roformer
