#include "data/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/document_readers.h"
#include "data/json_line_parser.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// The same but for case and for spaces around.
bool is_same_word(std::string_view cell, std::string_view name) {
  while (!cell.empty() && is_blank(cell.substr(0, 1))) cell.remove_prefix(1);
  while (!cell.empty() && is_blank(cell.substr(cell.size() - 1))) cell.remove_suffix(1);
  return std::ranges::equal(
      cell, name, {}, [](unsigned char c) { return std::tolower(c); },
      [](unsigned char c) { return std::tolower(c); });
}

class TextLineReader {
 public:
  TextLineReader(LineReader& reader, const TextLineOptions& options)
      : reader_(reader),
        options_(options),
        parser_({.file = reader.name(),
                 .hint = fmt::format("wanted {}; --skip-broken leaves other lines out",
                                     options.pairs ? R"({"sentence1": "...", "sentence2": "..."})"
                                                   : R"({"sentence": "..."})"),
                 .skip_broken = options.skip_broken}) {
    if (!options.first.empty()) names_.push_back({options.first, options.second});
    names_.push_back({options.pairs ? "sentence1" : "sentence", options.pairs ? "sentence2" : ""});
  }

  // The next line that is not blank; `blank` is how many are before it.
  bool next(TextLine& result, std::int64_t& blank) {
    blank = 0;
    for (std::string_view line; reader_.next(line);) {
      if (is_blank(line)) {
        ++blank;
        continue;
      }
      if (!std::exchange(begun_, true)) {
        json_ = format_of(options_.format, reader_.name(), line) == TextFormat::jsonl;
        if (!json_ && read_header(line)) {
          blank = 0;
          continue;
        }
      }
      result = json_ ? from_json(line) : from_columns(line);
      const bool empty = is_blank(result.first) || (options_.pairs && is_blank(result.second));
      if (result.has_text && empty) refuse("an empty text");
      return true;
    }
    parser_.finish();
    return false;
  }

 private:
  LineReader& reader_;
  const TextLineOptions& options_;
  JsonLineParser parser_;
  // Names of the columns or fields, the task's own first.
  struct TextNames {
    std::string first, second;
  };
  std::vector<TextNames> names_;
  bool begun_ = false;
  bool json_ = false;
  std::int64_t first_ = 0, second_ = 1;  // columns
  std::int64_t width_ = 0;               // of a file with a header

  [[noreturn]] void refuse(const std::string& what, const std::string& hint = "") const {
    throw_failure(reader_.location(), what, hint);
  }

  // Takes the indices of the columns from a line of their names; false where it is none.
  bool read_header(std::string_view line) {
    const std::vector<std::string_view> cells = tab_columns(line);
    for (const TextNames& names : names_) {
      const auto first = column_named(cells, names.first, reader_.location());
      const auto second =
          options_.pairs ? column_named(cells, names.second, reader_.location()) : first;
      if (!first || !second) continue;
      first_ = static_cast<std::int64_t>(*first);
      second_ = static_cast<std::int64_t>(*second);
      width_ = std::ssize(cells);
      return true;
    }
    warn_of_near_header(cells);
    return false;
  }

  // A line of names that differ in case or in spaces is read as a text.
  void warn_of_near_header(const std::vector<std::string_view>& cells) const {
    for (const std::string_view cell : cells) {
      for (const TextNames& names : names_) {
        if (!is_same_word(cell, names.first) &&
            !(options_.pairs && is_same_word(cell, names.second)))
          continue;
        log::warn("{}: is read as a text; column names would be {}{}", reader_.location(),
                  names.first, options_.pairs ? " and " + names.second : "");
        return;
      }
    }
  }

  TextLine from_columns(std::string_view line) {
    std::string storage;
    std::uint64_t replaced = 0;
    const std::vector<std::string_view> cells = tab_columns(repair_utf8(line, storage, replaced));
    reader_.add_replaced(replaced);
    const std::int64_t wanted = width_ > 0 ? width_ : options_.pairs ? 2 : 1;
    if (std::ssize(cells) != wanted) {
      refuse(fmt::format("has {}, wanted {}", format_counted(std::ssize(cells), "column"), wanted),
             options_.pairs ? "two sentences with a tab between them" : "one sentence a line");
    }
    TextLine result{.first = std::string(cells[static_cast<std::size_t>(first_)])};
    if (options_.pairs) result.second = std::string(cells[static_cast<std::size_t>(second_)]);
    return result;
  }

  TextLine from_json(std::string_view line) {
    const std::optional<nlohmann::json> object = parser_.parse(line, reader_.number());
    if (!object) return {.has_text = false};
    const TextNames* names = &names_.back();
    for (const TextNames& some : names_) {
      const bool both =
          object->contains(some.first) && (!options_.pairs || object->contains(some.second));
      if (!both) continue;
      names = &some;
      break;
    }
    TextLine result{.first = text_of(*object, names->first)};
    if (options_.pairs) result.second = text_of(*object, names->second);
    return result;
  }

  std::string text_of(const nlohmann::json& object, const std::string& name) {
    const auto found = object.find(name);
    if (found == object.end()) refuse(fmt::format("has no text \"{}\"", name));
    if (!found->is_string()) {
      refuse(fmt::format("has no text \"{}\": it is {}", name, describe_json(*found)));
    }
    auto text = found->get<std::string>();
    reader_.add_replaced(parser_.replaced_in(text));
    return text;
  }
};

}  // namespace

std::vector<std::string_view> tab_columns(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

std::optional<std::size_t> column_named(const std::vector<std::string_view>& names,
                                        std::string_view name, const std::string& location) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  if (std::ranges::count(names, name) > 1) {
    throw_failure(location, "has two columns \"" + std::string(name) + "\"",
                  "which of them is meant is not known");
  }
  return static_cast<std::size_t>(found - names.begin());
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

TextFormat text_format(std::string_view word) {
  if (word == "tsv") return TextFormat::tsv;
  return word == "jsonl" ? TextFormat::jsonl : TextFormat::automatic;
}

TextFormat format_of(TextFormat given, const std::string& file, std::string_view first_line) {
  if (given != TextFormat::automatic) return given;
  const bool json = first_line.starts_with('{') || is_json_lines(file);
  return json ? TextFormat::jsonl : TextFormat::tsv;
}

}  // namespace roformer
