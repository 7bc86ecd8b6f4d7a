// A table of figures that is made once and rendered as text for a terminal, Markdown, CSV, JSON or
// HTML (html.h). People's renderings round by each column's format; CSV and JSON keep every digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "report/number.h"

namespace roformer {

// A mean over several runs with their sample standard deviation; "3.92 ± 0.01", and without the
// second part for a single run.
struct MeanAndDeviation {
  double mean = 0;
  double deviation = 0;
  std::int64_t count = 1;
};

// Nothing ("–", "", null), words, or a figure.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, MeanAndDeviation>;

struct Column {
  enum class Alignment { left, right, center };
  enum class Best { none, lowest, highest };

  std::string title;
  std::string key;   // name in CSV and JSON; the title if empty
  std::string unit;  // shown after the title
  Alignment alignment = Alignment::right;
  NumberFormat format;
  Best best = Best::none;  // which figure is set in bold where the rendering can

  std::string heading() const { return unit.empty() ? title : title + " (" + unit + ")"; }
  const std::string& name() const { return key.empty() ? title : key; }
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns (anything else is a bug of the caller).
  void add_row(std::vector<Cell> cells);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }
  // The text of a cell for people.
  std::string text(std::size_t row, std::size_t column) const;
  // The part of it from the sign on, " ± 0.01"; empty where the cell has no deviation.
  std::string deviation_text(std::size_t row, std::size_t column) const;
  // The longest of the column: the others are padded to it, so that the means are aligned.
  std::string longest_deviation(std::size_t column) const;
  // True for a figure that its column marks as the best; several may share that, but not all.
  bool is_best(std::size_t row, std::size_t column) const;
  // A table of these columns.
  Table only(const std::vector<std::size_t>& columns) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The figure in a cell (the mean, where there are several); NaN where there is none.
double cell_value(const Cell& cell);
// A figure as people read it: words, which are never the best of their column.
Cell as_words(const Cell& cell, const Column& column);

// Aligned columns, two spaces apart, a rule under the heading. Where it is wider than `width`,
// headings and words are wrapped, the widest column first; figures never are. A table that is still
// too wide can be continued below itself: each part has some of the columns after the first.
struct TextTableOptions {
  std::size_t width = 100;
  bool continued = false;
};
// For tables on standard output: continued on a terminal, whole lines elsewhere.
TextTableOptions for_terminal();
std::string to_text(const Table& table, const TextTableOptions& options = {});

// The same for rows that are printed one by one, before the last is known: laid out by a table of
// the same columns with rows that are about as wide.
class TextTableRows {
 public:
  explicit TextTableRows(const Table& expected, const TextTableOptions& options = {});

  std::size_t width() const;
  std::string head(const Table& table) const;
  std::string row(const Table& table, std::size_t row) const;
  std::string rows(const Table& table) const;  // all of them

 private:
  std::vector<std::size_t> widths_;
};

// The width of the terminal on standard output; that of a page where it is no terminal.
std::size_t terminal_width();

std::string to_markdown(const Table& table);

// RFC 4180 with \n line ends. A column with a MeanAndDeviation becomes three: NAME, NAME_deviation
// and NAME_count.
std::string to_csv(const Table& table);

// An array of one object a row. A MeanAndDeviation is {"mean", "deviation", "count"}; NaN and the
// infinities, which JSON lacks, are null.
nlohmann::ordered_json to_json(const Table& table);

}  // namespace roformer
