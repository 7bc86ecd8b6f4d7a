#include "experiments/stored_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "experiments/stored_format.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr StoredWords<Column::Alignment, 3> kAlignments{{{"left", Column::Alignment::left},
                                                         {"right", Column::Alignment::right},
                                                         {"center", Column::Alignment::center}}};
constexpr StoredWords<Column::Best, 3> kBests{{{"none", Column::Best::none},
                                               {"lowest", Column::Best::lowest},
                                               {"highest", Column::Best::highest}}};

ordered_json cell_json(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return nullptr;
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* several = std::get_if<MeanAndDeviation>(&cell)) {
    return {{"mean", number_json(several->mean)},
            {"deviation", number_json(several->deviation)},
            {"count", several->count}};
  }
  const double value = std::get<double>(cell);
  if (std::isfinite(value)) return value;
  return {{"number", number_json(value)}};  // a text alone would be words
}

class TableReader : StoredReader {
 public:
  explicit TableReader(const std::string& file) : StoredReader(file, "table") {}

  Table table(const json& value) const {
    std::vector<Column> columns;
    for (const json& entry : list(field(value, "columns"), "columns")) {
      columns.push_back(column(entry));
    }
    Table table(columns);
    for (const json& entry : list(field(value, "rows"), "rows")) {
      if (list(entry, "a row").size() != columns.size()) {
        refuse(fmt::format("a row of {} columns", columns.size()), entry);
      }
      std::vector<Cell> cells;
      for (const json& part : entry) cells.push_back(cell(part));
      table.add_row(std::move(cells));
    }
    return table;
  }

 private:
  Column column(const json& value) const {
    return {.title = text(field(value, "title")),
            .key = text(field(value, "key")),
            .unit = text(field(value, "unit")),
            .alignment = one_of(kAlignments, field(value, "alignment")),
            .format = format(value),
            .best = one_of(kBests, field(value, "best"))};
  }

  Cell cell(const json& value) const {
    using Limits = std::numeric_limits<std::int64_t>;
    if (value.is_null()) return std::monostate();
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return value.get<double>();
    if (value.is_number()) return integer(value, Limits::min(), Limits::max());
    if (value.is_object() && value.contains("number")) return number(value["number"]);
    return MeanAndDeviation{.mean = number(field(value, "mean")),
                            .deviation = number(field(value, "deviation")),
                            .count = integer(field(value, "count"), 0, Limits::max())};
  }
};

}  // namespace

nlohmann::ordered_json stored_table(const Table& table) {
  ordered_json columns = ordered_json::array();
  for (const Column& column : table.columns()) {
    ordered_json stored = {{"title", column.title},
                           {"key", column.key},
                           {"unit", column.unit},
                           {"alignment", word_of(kAlignments, column.alignment)}};
    stored.update(format_json(column.format));
    stored["best"] = word_of(kBests, column.best);
    columns.push_back(std::move(stored));
  }
  ordered_json rows = ordered_json::array();
  for (const std::vector<Cell>& cells : table.rows()) {
    ordered_json row = ordered_json::array();
    for (const Cell& cell : cells) row.push_back(cell_json(cell));
    rows.push_back(std::move(row));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Table read_stored_table(const json& value, const std::string& file) {
  return TableReader(file).table(value);
}

}  // namespace roformer
