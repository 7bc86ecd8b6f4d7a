// Tables, and their renderings for programs: CSV and JSON, every digit kept.
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
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

std::string Table::longest_deviation(std::size_t column) const {
  std::string longest;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::string text = deviation_text(row, column);
    if (text.size() > longest.size()) longest = std::move(text);
  }
  return longest;
}

bool Table::is_best(std::size_t row, std::size_t column) const {
  const double value = cell_value(rows_[row][column]);
  const Column& own = columns_[column];
  if (own.best == Column::Best::none || !std::isfinite(value)) return false;
  // Figures that look the same count as equal: no reader can see which of them is better.
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

Table Table::only(const std::vector<std::size_t>& columns) const {
  const auto chosen = [&](const auto& all) {
    std::remove_cvref_t<decltype(all)> some;
    for (const std::size_t column : columns) some.push_back(all[column]);
    return some;
  };
  Table part(chosen(columns_));
  for (const std::vector<Cell>& cells : rows_) part.add_row(chosen(cells));
  return part;
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

namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

// The shortest text that reads back to the same double; nothing for NaN.
std::string exact(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

std::string cell_field(const Cell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  return exact(cell_value(cell));
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + quoted(fields[i]);
  return line + "\n";
}

bool has_deviations(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows(), [column](const auto& row) {
    return std::holds_alternative<MeanAndDeviation>(row[column]);
  });
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json cell_json(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return nullptr;
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* several = std::get_if<MeanAndDeviation>(&cell)) {
    return {{"mean", finite_or_null(several->mean)},
            {"deviation", finite_or_null(several->deviation)},
            {"count", several->count}};
  }
  return finite_or_null(std::get<double>(cell));
}

}  // namespace

std::string to_csv(const Table& table) {
  std::vector<bool> deviations;
  std::vector<std::string> fields;
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    const std::string& name = table.columns()[column].name();
    deviations.push_back(has_deviations(table, column));
    fields.push_back(name);
    if (!deviations[column]) continue;
    fields.push_back(name + "_deviation");
    fields.push_back(name + "_count");
  }
  std::string result = csv_line(fields);
  for (const std::vector<Cell>& cells : table.rows()) {
    fields.clear();
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const Cell& cell = cells[column];
      fields.push_back(cell_field(cell));
      if (!deviations[column]) continue;
      const auto* several = std::get_if<MeanAndDeviation>(&cell);
      fields.push_back(several ? exact(several->deviation) : "");
      fields.push_back(several ? std::to_string(several->count) : "");
    }
    result += csv_line(fields);
  }
  return result;
}

nlohmann::ordered_json to_json(const Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& cells : table.rows()) {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    for (std::size_t column = 0; column < cells.size(); ++column) {
      row[table.columns()[column].name()] = cell_json(cells[column]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace roformer
