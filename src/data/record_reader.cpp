#include "data/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "data/document_readers.h"
#include "text/utf8.h"

namespace roformer {

Cells tab_columns(std::string_view line) {
  Cells columns;
  for (;;) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

void require_columns(const Cells& cells, std::size_t wanted, const std::string& location,
                     const std::string& hint) {
  if (cells.size() == wanted) return;
  throw_failure(
      location,
      fmt::format("has {}, wanted {}", format_counted(std::ssize(cells), "column"), wanted), hint);
}

std::optional<std::size_t> column_named(const Cells& names, std::string_view name,
                                        const std::string& location) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  if (std::ranges::count(names, name) > 1) {
    throw_failure(location, "has two columns \"" + std::string(name) + "\"",
                  "give the columns different names");
  }
  return static_cast<std::size_t>(found - names.begin());
}

TextFormat text_format(std::string_view word) {
  if (word == "tsv") return TextFormat::tsv;
  if (word == "csv") return TextFormat::csv;
  return word == "jsonl" ? TextFormat::jsonl : TextFormat::automatic;
}

RecordReader::RecordReader(LineReader& lines, Options options)
    : lines_(lines),
      options_(std::move(options)),
      parser_({.file = lines.name(),
               .hint = options_.hint_for_broken,
               .skip_broken = options_.skip_broken}) {}

std::string CsvRecord::add(std::string_view line) {
  if (quoted_) {
    cells_.back() += '\n';
  } else {
    cells_.assign(1, "");
  }
  bool closed = false;  // the current cell was in quotation marks
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted_) {
      if (c != '"') {
        cells_.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        cells_.back() += line[++i];
      } else {
        quoted_ = false;
        closed = true;
      }
    } else if (c == ',') {
      cells_.emplace_back();
      closed = false;
    } else if (closed) {
      return "has text after the quotation mark that ends a cell";
    } else if (c == '"' && cells_.back().empty()) {
      quoted_ = true;
    } else {
      cells_.back() += c;
    }
  }
  return "";
}

bool RecordReader::next() {
  blank_ = 0;
  more_lines_ = 0;
  while (lines_.next(line_)) {
    lines_.require_whole();
    if (is_blank(line_)) {
      ++blank_;
      continue;
    }
    if (!std::exchange(begun_, true)) {
      if (options_.format == TextFormat::automatic) options_.format = found_format();
    }
    if (is_json()) object_ = parser_.parse(line_, lines_.number());
    if (options_.format == TextFormat::csv) read_csv_record();
    return true;
  }
  parser_.finish();
  return false;
}

TextFormat RecordReader::found_format() const {
  if (line_.starts_with('{') || is_json_lines(lines_.name())) return TextFormat::jsonl;
  if (!options_.finds_csv) return TextFormat::tsv;
  const std::string ending = ending_of(lines_.name());
  if (ending == ".csv") return TextFormat::csv;
  if (ending == ".tsv" || ending == ".tab") return TextFormat::tsv;
  const bool has_tab = line_.find('\t') != std::string_view::npos;
  if (has_tab || line_.find(',') == std::string_view::npos) return TextFormat::tsv;
  if (options_.csv_names.empty()) return TextFormat::csv;
  CsvRecord names;
  names.add(line_);
  const auto is_known = [&](const std::string& cell) {
    return std::ranges::find(options_.csv_names, cell) != options_.csv_names.end();
  };
  return std::ranges::any_of(names.cells(), is_known) ? TextFormat::csv : TextFormat::tsv;
}

void RecordReader::read_csv_record() {
  constexpr std::int64_t kMostLines = 100'000;  // a lone quotation mark would take the whole file
  std::string problem = record_.add(line_);
  while (problem.empty() && record_.is_open()) {
    if (more_lines_ == kMostLines || !lines_.next(line_)) {
      problem = "has a quotation mark that is not closed";
      break;
    }
    lines_.require_whole();
    ++more_lines_;
    problem = record_.add(line_);
  }
  if (problem.empty()) return;
  throw_failure(location(), problem,
                "CSV doubles a quotation mark inside a cell: \"a \"\"quoted\"\" word\"");
}

Cells RecordReader::raw_cells() const {
  if (options_.format != TextFormat::csv) return tab_columns(line_);
  return {record_.cells().begin(), record_.cells().end()};
}

Cells RecordReader::cells() {
  std::uint64_t replaced = 0;
  if (options_.format == TextFormat::csv) {
    repaired_cells_ = record_.cells();
    for (std::string& cell : repaired_cells_) {
      std::string buffer;
      cell = std::string(repair_utf8(cell, buffer, replaced));
    }
    lines_.add_replaced(replaced);
    return {repaired_cells_.begin(), repaired_cells_.end()};
  }
  const std::string_view valid = repair_utf8(line_, repaired_, replaced);
  lines_.add_replaced(replaced);
  return tab_columns(valid);
}

std::string RecordReader::text(const std::string& name, const nlohmann::json& object) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) {
    const std::string got = found == object.end() ? "" : ": it is " + describe_json(*found);
    refuse(fmt::format("has no text \"{}\"{}", name, got));
  }
  return valid(found->get<std::string>());
}

std::string RecordReader::valid(std::string text) {
  lines_.add_replaced(parser_.replaced_in(text));
  return text;
}

void RecordReader::refuse_blank(const std::string& name, std::string_view text) const {
  if (is_blank(text)) refuse(fmt::format("\"{}\" is an empty text", name));
}

void RecordReader::refuse(const std::string& what) const {
  throw_failure(location(), what, options_.hint);
}

}  // namespace roformer
