#include "study/stored_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <typename Value, std::size_t kCount>
using WordTable = std::array<std::pair<const char*, Value>, kCount>;

constexpr WordTable<Column::Alignment, 3> kAlignments{{{"left", Column::Alignment::left},
                                                       {"right", Column::Alignment::right},
                                                       {"center", Column::Alignment::center}}};
constexpr WordTable<Column::Best, 3> kBests{{{"none", Column::Best::none},
                                             {"lowest", Column::Best::lowest},
                                             {"highest", Column::Best::highest}}};
constexpr WordTable<NumberFormat::Style, 5> kStyles{
    {{"general", NumberFormat::Style::general},
     {"fixed", NumberFormat::Style::fixed},
     {"count", NumberFormat::Style::count},
     {"percent", NumberFormat::Style::percent},
     {"scientific", NumberFormat::Style::scientific}}};
constexpr std::int64_t kMostDigits = 17;  // a double has no more

template <typename Value, std::size_t kCount>
const char* word_of(const WordTable<Value, kCount>& words, Value value) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [value](const auto& word) { return word.second == value; });
  ROFORMER_ASSERT(found != words.end());
  return found->first;
}

// JSON has no infinities and no NaN; they are words.
ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
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

class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

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
  const std::string& file_;

  [[noreturn]] void refuse(const std::string& wanted, const json& got) const {
    throw_failure(file_, fmt::format("is no table that was stored: got {}, wanted {}",
                                     describe_json(got), wanted));
  }

  const json& field(const json& object, const char* name) const {
    if (!object.is_object() || !object.contains(name)) {
      refuse(fmt::format("an object with \"{}\"", name), object);
    }
    return object[name];
  }

  const json& list(const json& value, const char* what) const {
    if (!value.is_array()) refuse(fmt::format("a list for {}", what), value);
    return value;
  }

  std::string text(const json& value) const {
    if (!value.is_string()) refuse("a text", value);
    return value.get<std::string>();
  }

  std::int64_t integer(const json& value, std::int64_t least, std::int64_t most) const {
    const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0;
    const bool good = value.is_number_integer() && !huge && value.get<std::int64_t>() >= least &&
                      value.get<std::int64_t>() <= most;
    if (!good) refuse(fmt::format("an integer from {} to {}", least, most), value);
    return value.get<std::int64_t>();
  }

  double number(const json& value) const {
    using Limits = std::numeric_limits<double>;
    if (value.is_number()) return value.get<double>();
    if (value == "nan") return Limits::quiet_NaN();
    if (value == "inf") return Limits::infinity();
    if (value == "-inf") return -Limits::infinity();
    refuse("a number", value);
  }

  template <typename Value, std::size_t kCount>
  Value one_of(const WordTable<Value, kCount>& words, const json& value) const {
    for (const auto& [word, meaning] : words) {
      if (value == word) return meaning;
    }
    refuse(fmt::format("a word such as \"{}\"", words.front().first), value);
  }

  Column column(const json& value) const {
    return {.title = text(field(value, "title")),
            .key = text(field(value, "key")),
            .unit = text(field(value, "unit")),
            .alignment = one_of(kAlignments, field(value, "alignment")),
            .format = {.style = one_of(kStyles, field(value, "style")),
                       .digits = static_cast<int>(integer(field(value, "digits"), 0, kMostDigits))},
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
    columns.push_back({{"title", column.title},
                       {"key", column.key},
                       {"unit", column.unit},
                       {"alignment", word_of(kAlignments, column.alignment)},
                       {"style", word_of(kStyles, column.format.style)},
                       {"digits", column.format.digits},
                       {"best", word_of(kBests, column.best)}});
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
