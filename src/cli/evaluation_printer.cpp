#include "cli/evaluation_printer.h"

#include <iostream>

#include "base/terminal.h"

namespace roformer {

void EvaluationPrinter::line(const std::string& text) {
  std::cout << text << '\n';
}

void EvaluationPrinter::paragraph(const std::string& text) {
  std::cout << wrapped(text, terminal_width()) << '\n';
}

void EvaluationPrinter::table(const Table& table) {
  std::cout << to_text(table, {.width = terminal_width()});
}

void EvaluationPrinter::row(const Table& expected, std::size_t row) {
  if (!rows_) {
    rows_.emplace(expected, TextTableOptions{.width = terminal_width()});
    std::cout << rows_->head(expected);
  }
  std::cout << rows_->row(expected, row) << std::flush;
}

}  // namespace roformer
