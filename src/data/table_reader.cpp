#include "data/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/as_number.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parts.h"
#include "base/printable.h"
#include "config/suggest.h"
#include "data/corpus_stream.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string_view without_blanks(std::string_view text) {
  return trimmed(text, " \t\r\n");
}

// Whether two names are equal apart from case and surrounding blanks.
bool is_same_word(std::string_view a, std::string_view b) {
  const auto small = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(without_blanks(a), without_blanks(b), {}, small, small);
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string joined;
  for (const nlohmann::json& entry : value) joined += (joined.empty() ? "" : "|") + text_of(entry);
  return joined;
}

}  // namespace

TableReader::TableReader(const fs::path& file, Options options)
    : file_(file.string()),
      options_(options),
      lines_(file, LineReader::kAnyLength),
      records_(lines_, {.format = options.format,
                        .finds_csv = true,
                        .csv_names = options.expected,
                        .hint_for_broken = options.hint_for_broken,
                        .skip_broken = options.skip_broken}) {
  if (!records_.next()) throw_failure(lines_.name(), "is empty");
  blank_ = records_.blank_before();
  if (is_json()) {
    first_is_read_ = true;
    while (records_.is_left_out()) {
      if (!records_.next()) return;
      blank_ += 1 + records_.blank_before();
    }
    for (const auto& [name, value] : records_.object().items()) names_.push_back(name);
    return;
  }
  const Cells cells = records_.cells();
  for (const std::string_view cell : cells) names_.emplace_back(without_blanks(cell));
  const bool is_named = ending_of(file_) == ".csv" || ending_of(file_) == ".tsv";
  const bool expected = std::ranges::any_of(options_.expected, [&](const std::string& name) {
    return std::ranges::find(names_, name) != names_.end();
  });
  plain_ = !options_.expected.empty() && !expected && !is_named;
  if (options_.header && !plain_) return;
  if (plain_) warn_of_near_names();
  for (std::size_t i = 0; i < names_.size(); ++i) names_[i] = std::to_string(i + 1);
  cells_.assign(cells.begin(), cells.end());
  first_is_read_ = true;
}

// A first line of names in another case would be taken for a text.
void TableReader::warn_of_near_names() const {
  for (const std::string& name : options_.expected) {
    const auto near = std::ranges::find_if(
        names_, [&](const std::string& cell) { return is_same_word(cell, name); });
    if (near == names_.end()) continue;
    log::warn("{}: is read as a text; the name of a column would be {}, not {}",
              records_.location(), name, printable(*near));
    return;
  }
}

bool TableReader::has(std::string_view name) const {
  return std::ranges::find(names_, name) != names_.end();
}

std::size_t TableReader::column(const std::string& wanted, std::string_view key) const {
  if (std::ranges::count(names_, wanted) > 1) {
    throw_usage(std::string(key), fmt::format("{} has two columns {}", file_, printable(wanted)),
                "give the columns different names, or name one by its number from 1");
  }
  const auto named = std::ranges::find(names_, wanted);
  if (named != names_.end()) return static_cast<std::size_t>(named - names_.begin());
  const std::size_t number = as_number<std::size_t>(wanted).value_or(0);
  if (number > 0 && number <= names_.size()) return number - 1;
  constexpr std::size_t kFew = 8;
  std::string hint = suggestion(wanted, names_);
  if (!hint.empty()) hint += "; ";
  throw_usage(std::string(key), fmt::format("{} has no column {}", file_, printable(wanted)),
              fmt::format("{}its columns: {}", hint, clean_line(few_of(names_, kFew))));
}

bool TableReader::next() {
  if (std::exchange(first_is_read_, false)) return true;
  if (!records_.next()) return false;
  blank_ = records_.blank_before();
  if (is_json()) return true;
  const Cells cells = records_.cells();
  require_columns(cells, names_.size(), records_.location(),
                  format() == TextFormat::csv
                      ? "a cell with a comma needs quotation marks around it"
                      : "columns are separated by tabs; quotation marks do not join them");
  cells_.assign(cells.begin(), cells.end());
  return true;
}

const nlohmann::json* TableReader::field(std::size_t column) const {
  const nlohmann::json& object = records_.object();
  const auto found = object.find(names_[column]);
  return found == object.end() ? nullptr : &*found;
}

std::string TableReader::text(std::size_t column) {
  if (!is_json()) return cells_[column];
  const nlohmann::json* const value = field(column);
  if (value == nullptr) records_.refuse(fmt::format("has no {}", printable(names_[column])));
  return records_.valid(text_of(*value));
}

std::vector<std::string> TableReader::list(std::size_t column, char separator) {
  std::vector<std::string> entries;
  const nlohmann::json* const value = is_json() ? field(column) : nullptr;
  if (value != nullptr && value->is_array()) {
    for (const nlohmann::json& entry : *value) {
      entries.push_back(records_.valid(std::string(without_blanks(text_of(entry)))));
    }
    return entries;
  }
  const std::string cell = text(column);
  for (std::string_view rest = cell; !without_blanks(rest).empty();) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    entries.emplace_back(without_blanks(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return entries;
}

std::vector<std::string> TableReader::row() {
  if (!is_json()) return cells_;
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    cells.push_back(field(i) == nullptr ? "" : text(i));
  }
  return cells;
}

}  // namespace roformer
