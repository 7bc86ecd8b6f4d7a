#include "experiments/stored_table.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/json.h"
#include "experiments/stored_format.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void describe_column(auto& stored, auto& column) {
  using Alignment = Column::Alignment;
  using Best = Column::Best;
  stored.field("title", column.title);
  stored.field("key", column.key);
  stored.field("unit", column.unit);
  stored.template word<Alignment>(
      "alignment", column.alignment,
      {{"left", Alignment::left}, {"right", Alignment::right}, {"center", Alignment::center}});
  describe_format(stored, column.format);
  stored.template word<Best>(
      "best", column.best,
      {{"none", Best::none}, {"lowest", Best::lowest}, {"highest", Best::highest}});
}

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

// `place` names the cell in messages.
Cell read_cell(const json& value, const JsonFields& fields, const std::string& place) {
  if (value.is_null()) return std::monostate();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_number()) return json_integer(value, fields.file());
  const JsonFields cell = fields.inside(JsonNode(&value), place);
  if (cell.has("number")) return number_of(cell, "number");
  return MeanAndDeviation{.mean = number_of(cell, "mean"),
                          .deviation = number_of(cell, "deviation"),
                          .count = cell.count("count")};
}

}  // namespace

nlohmann::ordered_json stored_table(const Table& table) {
  StoredWriter stored;
  stored.list("columns", table.columns(),
              [](auto& inner, auto& column) { describe_column(inner, column); });
  ordered_json& rows = stored.object["rows"] = ordered_json::array();
  for (const std::vector<Cell>& cells : table.rows()) {
    ordered_json& row = rows.emplace_back(ordered_json::array());
    for (const Cell& cell : cells) row.push_back(cell_json(cell));
  }
  return std::move(stored.object);
}

Table read_stored_table(const json& value, const std::string& file) {
  const JsonFields fields(value, file);
  std::vector<Column> columns;
  StoredReader(fields).list("columns", columns,
                            [](auto& inner, auto& column) { describe_column(inner, column); });
  Table table(columns);
  for (const json& row : fields.list("rows")) {
    const std::string place = fmt::format("rows[{}]", table.rows().size());
    if (!row.is_array() || row.size() != columns.size()) {
      throw_failure(file, fmt::format("\"{}\" is {}, wanted a row of {} columns", place,
                                      describe_json(row), columns.size()));
    }
    std::vector<Cell> cells;
    for (const json& cell : row) {
      cells.push_back(read_cell(cell, fields, fmt::format("{}[{}]", place, cells.size())));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace roformer
