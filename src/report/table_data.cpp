// Tables for programs: CSV and JSON, every digit kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/table.h"

namespace roformer {
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
  return std::any_of(table.rows().begin(), table.rows().end(), [column](const auto& row) {
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
