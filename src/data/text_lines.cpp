#include "data/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/blank.h"
#include "base/error.h"
#include "base/input_line.h"
#include "base/json.h"
#include "base/progress.h"
#include "data/columns.h"

namespace roformer {
namespace {

class TextLineReader {
 public:
  TextLineReader(std::istream& stream, const TextLineOptions& options)
      : stream_(stream), options_(options) {}

  bool next(TextLine& result) {
    std::string line;
    if (!next_line(stream_, options_.location, line)) return false;
    ++number_;
    if (number_ == 1) {
      if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      json_ = options_.format == TextFormat::jsonl ||
              (options_.format == TextFormat::automatic && line.starts_with('{'));
    }
    if (line.ends_with('\r')) line.pop_back();
    if (number_ == 1 && !json_ && read_header(line)) return next(result);
    result = json_ ? from_json(line) : from_columns(line);
    if (is_blank(result.first) || (options_.pairs && is_blank(result.second))) {
      refuse("an empty text");
    }
    return true;
  }

 private:
  std::istream& stream_;
  const TextLineOptions& options_;
  std::int64_t number_ = 0;
  bool json_ = false;
  std::int64_t first_ = 0, second_ = 1;  // columns
  std::int64_t width_ = 0;               // of a file with a header

  [[noreturn]] void refuse(const std::string& what, const std::string& hint = "") const {
    throw_failure(fmt::format("{}:{}", options_.location, number_), what, hint);
  }

  // Takes the indices of the columns from a line of their names; false where it is none.
  bool read_header(const std::string& line) {
    const std::vector<std::string_view> cells = tab_columns(line);
    const auto column = [&](const char* name) { return std::ranges::find(cells, name); };
    const auto first = column(options_.pairs ? "sentence1" : "sentence");
    const auto second = options_.pairs ? column("sentence2") : first;
    if (first == cells.end() || second == cells.end()) return false;
    first_ = first - cells.begin();
    second_ = second - cells.begin();
    width_ = std::ssize(cells);
    return true;
  }

  TextLine from_columns(const std::string& line) const {
    const std::vector<std::string_view> cells = tab_columns(line);
    const std::int64_t wanted = width_ > 0 ? width_ : options_.pairs ? 2 : 1;
    if (std::ssize(cells) != wanted) {
      refuse(fmt::format("has {}, wanted {}", format_counted(std::ssize(cells), "column"), wanted),
             options_.pairs ? "two sentences with a tab between them" : "one sentence a line");
    }
    TextLine result{.first = std::string(cells[static_cast<std::size_t>(first_)])};
    if (options_.pairs) result.second = std::string(cells[static_cast<std::size_t>(second_)]);
    return result;
  }

  TextLine from_json(const std::string& line) const {
    const std::optional<nlohmann::json> object = try_parse_json(line);
    if (!object || !object->is_object()) refuse("is not a JSON object");
    if (!options_.pairs) return {.first = text_of(*object, "sentence")};
    return {.first = text_of(*object, "sentence1"), .second = text_of(*object, "sentence2")};
  }

  std::string text_of(const nlohmann::json& object, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) {
      refuse(fmt::format("has no text \"{}\"", name));
    }
    return found->get<std::string>();
  }
};

}  // namespace

void read_text_lines(std::istream& stream, const TextLineOptions& options, std::size_t chunk,
                     const std::function<void(const std::vector<TextLine>&)>& take) {
  TextLineReader reader(stream, options);
  std::vector<TextLine> lines;
  for (TextLine line; reader.next(line);) {
    lines.push_back(std::move(line));
    if (lines.size() < chunk) continue;
    take(lines);
    lines.clear();
  }
  if (!lines.empty()) take(lines);
}

TextFormat text_format(std::string_view word) {
  if (word == "tsv") return TextFormat::tsv;
  return word == "jsonl" ? TextFormat::jsonl : TextFormat::automatic;
}

}  // namespace roformer
