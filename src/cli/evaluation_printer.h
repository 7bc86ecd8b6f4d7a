// Prints what an evaluation finds to standard output, as wide as the terminal.
#pragma once

#include <optional>
#include <string>

#include "report/table.h"
#include "tasks/evaluation.h"

namespace roformer {

class EvaluationPrinter : public EvaluationText {
 public:
  void line(const std::string& text) override;
  void paragraph(const std::string& text) override;
  void table(const Table& table) override;
  void row(const Table& expected, std::size_t row) override;

 private:
  std::optional<TextTableRows> rows_;
};

}  // namespace roformer
