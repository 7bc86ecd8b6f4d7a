#include "report/table.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace roformer {

void Table::add_row(std::vector<Cell> cells) {
  ROFORMER_ASSERT(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t row, std::size_t column) const {
  const NumberFormat& format = columns_[column].format;
  const Cell& cell = rows_[row][column];
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    if (format.style == NumberFormat::Style::general) return std::to_string(*integer);
    return format_number(static_cast<double>(*integer), format);
  }
  return format_number(cell_value(cell), format) + deviation_text(row, column);
}

std::string Table::deviation_text(std::size_t row, std::size_t column) const {
  const auto* several = std::get_if<MeanAndDeviation>(&rows_[row][column]);
  if (several == nullptr || several->count < 2) return "";
  return " ± " + format_number(several->deviation, columns_[column].format);
}

bool Table::is_best(std::size_t row, std::size_t column) const {
  const double value = cell_value(rows_[row][column]);
  const Column& own = columns_[column];
  if (own.best == Column::Best::none || !std::isfinite(value)) return false;
  // What looks the same is the same: no reader can see which of two equal figures is meant.
  const std::string text = format_number(value, own.format);
  std::size_t figures = 0, equal = 0;
  for (const std::vector<Cell>& cells : rows_) {
    const double other = cell_value(cells[column]);
    if (!std::isfinite(other)) continue;
    const bool better = own.best == Column::Best::lowest ? other < value : other > value;
    const bool same = format_number(other, own.format) == text;
    if (better && !same) return false;
    ++figures;
    equal += same;
  }
  return figures > equal;  // where all are equal, or there is but one, none has won
}

double cell_value(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  if (const auto* several = std::get_if<MeanAndDeviation>(&cell)) return several->mean;
  return std::numeric_limits<double>::quiet_NaN();
}

Cell as_words(const Cell& cell, const Column& column) {
  if (std::isnan(cell_value(cell))) return cell;
  Table alone({column});
  alone.add_row({cell});
  return alone.text(0, 0);
}

}  // namespace roformer
