// What `roformer evaluate` prints of a language model: the rows of its table as they are finished,
// then what is said below them.
#pragma once

#include <optional>

#include "report/table.h"
#include "runs/evaluation_report.h"

namespace roformer {

class EvaluationPrinter {
 public:
  // The last row of the report so far; before the first, what stands above the table. `expected`
  // has the widths of the table's columns.
  void print_row(const EvaluationReport& so_far, const EvaluationReport& expected);
  void print_rest(const EvaluationReport& report) const;

 private:
  std::optional<TextTableRows> rows_;
};

}  // namespace roformer
