#include "data/document_readers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "data/corpus_stream.h"

namespace roformer {
namespace {

constexpr std::size_t kLongestTextLine = 1 << 20;
constexpr std::string_view kTextMark = "\xef\xbb\xbf";

// Where an endless line is cut: after a space when there is one, else between two characters.
std::size_t cut_position(std::string_view line) {
  const std::size_t space = line.find_last_of(" \t");
  if (space != std::string_view::npos && space > line.size() / 2) return space + 1;
  std::size_t cut = line.size();
  for (int step = 0; step < 3 && (static_cast<unsigned char>(line[cut - 1]) & 0xc0) == 0x80;
       ++step) {
    --cut;
  }
  return static_cast<unsigned char>(line[cut - 1]) >= 0xc0 ? cut - 1 : line.size();
}

constexpr std::size_t kLongestPart = 1 << 20;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

constexpr std::size_t kLongestLine = 64 << 20;
constexpr std::size_t kPiece = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr const char* kAsItIs =
    "JSON Lines have an object on each line; --skip-broken leaves other lines out, reader text "
    "takes the file as it is";

// The fields that hold a text, for the hint.
std::string texts_of(const nlohmann::json& object) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string() && names.size() < kShown) names.push_back(printable(name));
  }
  if (names.empty()) return "none of its fields is a text";
  return fmt::format("it has texts in {}; text_field of a recipe or --text-field chooses",
                     fmt::join(names, ", "));
}

}  // namespace

void DocumentSplitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      hold(bytes);
      return;
    }
    if (pending_.empty() && !inside_line_) {
      take_line(bytes.substr(0, end));
    } else {
      hold(bytes.substr(0, end));
      end_line();
    }
    bytes.remove_prefix(end + 1);
  }
}

void DocumentSplitter::hold(std::string_view bytes) {
  pending_.append(bytes);
  while (pending_.size() >= kLongestTextLine) {
    const std::size_t cut = cut_position(std::string_view(pending_).substr(0, kLongestTextLine));
    take_part(std::string_view(pending_).substr(0, cut));
    pending_.erase(0, cut);
    inside_line_ = true;
  }
}

// Of a line that was cut where it ends nothing is left, and its end is still to come.
void DocumentSplitter::end_line() {
  if (!pending_.empty() || inside_line_) {
    take_line(pending_);
  } else if (separator_ == DocumentSeparator::line) {
    end_document();
  }
  pending_.clear();
  inside_line_ = false;
}

void DocumentSplitter::end_file() {
  end_line();
  end_document();
  blank_lines_ = 0;
  at_file_start_ = true;
}

void DocumentSplitter::take_line(std::string_view given) {
  if (given.ends_with('\r')) given.remove_suffix(1);
  const std::string_view line = without_mark(given);
  if (is_blank(line) && !inside_line_) {
    ++blank_lines_;
    const bool ends = separator_ == DocumentSeparator::blank_line ||
                      (separator_ == DocumentSeparator::two_blank_lines && blank_lines_ >= 2);
    if (ends) end_document();
  } else {
    begin_text();
    sink_.line(line);
  }
  if (separator_ == DocumentSeparator::line) end_document();
}

void DocumentSplitter::take_part(std::string_view part) {
  const std::string_view text = without_mark(part);
  begin_text();
  sink_.part(text);
}

// Blank lines are held back until text follows in the same document.
void DocumentSplitter::begin_text() {
  if (in_document_) {
    for (; blank_lines_ > 0; --blank_lines_) sink_.line({});
  }
  blank_lines_ = 0;
  in_document_ = true;
  had_text_ = true;
}

std::string_view DocumentSplitter::without_mark(std::string_view text) {
  if (at_file_start_ && text.starts_with(kTextMark)) {
    text.remove_prefix(kTextMark.size());
  }
  at_file_start_ = false;
  return text;
}

void DocumentSplitter::end_document() {
  if (in_document_) sink_.end_document();
  in_document_ = false;
}

void VerbatimText::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const bool may_end = begins_character(bytes.front());
    if (!cuts_.empty() && position_ >= cuts_.front() && may_end) {
      end_part();
      sink_.end_document();
      cuts_ = cuts_.subspan(1);
    }
    if (pending_.size() >= kLongestPart && may_end) end_part();
    const std::size_t end = bytes.find('\n');
    std::size_t count = end == std::string_view::npos ? bytes.size() : end + 1;
    if (!cuts_.empty()) {
      const std::uint64_t before = cuts_.front() > position_ ? cuts_.front() - position_ : 1;
      count = std::min<std::uint64_t>(count, before);
    }
    pending_ += bytes.substr(0, count);
    position_ += count;
    bytes.remove_prefix(count);
    if (pending_.ends_with('\n')) end_part();
  }
}

void VerbatimText::end_file() {
  end_part();
  sink_.end_document();
}

void VerbatimText::end_part() {
  if (!pending_.empty()) sink_.part(pending_);
  pending_.clear();
}

JsonDocuments::JsonDocuments(std::string file, std::string field, CorpusSink& sink,
                             bool skip_broken)
    : file_(std::move(file)),
      field_(std::move(field)),
      documents_(DocumentSeparator::file, sink),
      parser_({.file = file_, .hint = kAsItIs, .skip_broken = skip_broken}) {}

std::string JsonDocuments::location() const {
  return fmt::format("{}:{}", file_, lines_);
}

void JsonDocuments::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (pending_.size() + part.size() > kLongestLine) {
      ++lines_;
      throw_failure(location(), "a line is longer than 64 MiB", kAsItIs);
    }
    if (end == std::string_view::npos) {
      pending_ += part;
      return;
    }
    if (pending_.empty()) {
      take_line(part);
    } else {
      pending_ += part;
      take_line(std::exchange(pending_, {}));
    }
    bytes.remove_prefix(end + 1);
  }
}

void JsonDocuments::end_file() {
  if (!pending_.empty()) take_line(std::exchange(pending_, {}));
  lines_ = 0;
  parser_.finish();
}

void JsonDocuments::take_line(std::string_view line) {
  if (++lines_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (is_blank(line)) return;
  const std::optional<nlohmann::json> json = parser_.parse(line, static_cast<std::int64_t>(lines_));
  if (!json) return;
  const auto found = json->find(field_);
  if (found == json->end() || !found->is_string()) {
    const std::string got =
        found == json->end() ? "has no field" : "has " + describe_json(*found) + " as";
    throw_failure(location(), fmt::format("{} {}, wanted a text", got, printable(field_)),
                  texts_of(*json));
  }
  // In pieces, as a file comes: of a long line the splitter keeps no more than it says.
  std::string_view text = found->get_ref<const std::string&>();
  replaced_ += parser_.replaced_in(text);
  while (!text.empty()) {
    documents_.feed(text.substr(0, kPiece));
    text.remove_prefix(std::min(kPiece, text.size()));
  }
  documents_.end_file();
}

bool is_json_lines(const std::filesystem::path& file) {
  const std::string ending = ending_of(file);
  return ending == ".jsonl" || ending == ".ndjson";
}

}  // namespace roformer
