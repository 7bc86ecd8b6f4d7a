#include "data/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/document_readers.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// Whether two names are equal apart from case and surrounding spaces.
bool is_same_word(std::string_view cell, std::string_view name) {
  while (!cell.empty() && is_blank(cell.substr(0, 1))) cell.remove_prefix(1);
  while (!cell.empty() && is_blank(cell.substr(cell.size() - 1))) cell.remove_suffix(1);
  const auto small = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(cell, name, {}, small, small);
}

std::string hint_of(const TextLineOptions& options) {
  return options.pairs ? R"({"sentence1": "...", "sentence2": "..."})" : R"({"sentence": "..."})";
}

class TextLineReader {
 public:
  TextLineReader(LineReader& lines, const TextLineOptions& options)
      : options_(options),
        lines_(lines),
        records_(lines, {.format = options.format,
                         .hint_for_broken = fmt::format(
                             "wanted {}; --skip-broken leaves other lines out", hint_of(options)),
                         .skip_broken = options.skip_broken}) {
    if (!options.first.empty()) names_.push_back({options.first, options.second});
    names_.push_back({options.pairs ? "sentence1" : "sentence", options.pairs ? "sentence2" : ""});
  }

  // The next line that is not blank; `blank` is the number of blank lines before it.
  bool next(TextLine& result, std::int64_t& blank) {
    const bool is_first = records_.is_empty();
    if (!records_.next()) return false;
    blank = records_.blank_before();
    if (is_first && !records_.is_json() && read_header()) {
      if (!records_.next()) return false;
      blank = records_.blank_before();
    }
    result = records_.is_json() ? from_json() : from_columns();
    const bool empty = is_blank(result.first) || (options_.pairs && is_blank(result.second));
    if (result.has_text && empty) throw_failure(lines_.location(), "an empty text");
    return true;
  }

 private:
  struct TextNames {
    std::string first, second;
  };

  const TextLineOptions& options_;
  LineReader& lines_;
  RecordReader records_;
  std::vector<TextNames> names_;        // of the columns or fields, the task's own first
  std::size_t first_ = 0, second_ = 1;  // columns
  std::size_t width_ = 0;               // of a file with a header

  // Takes the indices of the columns from a line of their names. Returns false if the line is none.
  bool read_header() {
    const Cells cells = records_.raw_cells();
    for (const TextNames& names : names_) {
      const auto first = column_named(cells, names.first, lines_.location());
      const auto second =
          options_.pairs ? column_named(cells, names.second, lines_.location()) : first;
      if (!first || !second) continue;
      first_ = *first;
      second_ = *second;
      width_ = cells.size();
      return true;
    }
    warn_of_near_header(cells);
    return false;
  }

  // A line of names with other case or spaces is read as a text.
  void warn_of_near_header(const Cells& cells) const {
    for (const std::string_view cell : cells) {
      for (const TextNames& names : names_) {
        if (!is_same_word(cell, names.first) &&
            !(options_.pairs && is_same_word(cell, names.second)))
          continue;
        log::warn("{}: is read as a text; column names would be {}{}", lines_.location(),
                  names.first, options_.pairs ? " and " + names.second : "");
        return;
      }
    }
  }

  TextLine from_columns() {
    const Cells cells = records_.cells();
    require_columns(
        cells,
        width_ > 0       ? width_
        : options_.pairs ? 2
                         : 1,
        lines_.location(),
        options_.pairs ? "two sentences with a tab between them" : "one sentence a line");
    return {.first = std::string(cells[first_]),
            .second = options_.pairs ? std::string(cells[second_]) : std::string()};
  }

  TextLine from_json() {
    if (records_.is_left_out()) return {.has_text = false};
    const auto found = std::ranges::find_if(names_, [&](const TextNames& names) {
      const nlohmann::json& object = records_.object();
      return object.contains(names.first) && (!options_.pairs || object.contains(names.second));
    });
    const TextNames& names = found == names_.end() ? names_.back() : *found;
    TextLine result{.first = records_.text(names.first)};
    if (options_.pairs) result.second = records_.text(names.second);
    return result;
  }
};

}  // namespace

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
                  "which of them is meant is not known");
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

void read_text_lines(LineReader& reader, const TextLineOptions& options, std::size_t chunk,
                     const std::function<void(const std::vector<TextLine>&)>& take) {
  TextLineReader texts(reader, options);
  std::vector<TextLine> lines;
  const auto add = [&](TextLine line) {
    lines.push_back(std::move(line));
    if (lines.size() < chunk) return;
    take(lines);
    lines.clear();
  };
  TextLine line;
  for (std::int64_t blank = 0; texts.next(line, blank);) {
    for (; blank > 0; --blank) add({.has_text = false});
    add(std::move(line));
  }
  if (!lines.empty()) take(lines);
}

std::string as_one_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace roformer
