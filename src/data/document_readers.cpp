#include "data/document_readers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "data/corpus_stream.h"
#include "data/help_page.h"

namespace roformer {
namespace {

constexpr std::size_t kLongestTextLine = 1 << 20;
constexpr std::string_view kTextMark = "\xef\xbb\xbf";

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

// Where to cut an endless line: after a space if there is one, else between two characters.
std::size_t cut_position(std::string_view line) {
  const std::size_t space = line.find_last_of(" \t");
  if (space != std::string_view::npos && space > line.size() / 2) return space + 1;
  std::size_t cut = line.size();
  for (int step = 0; step < 3 && !begins_character(line[cut - 1]); ++step) --cut;
  return static_cast<unsigned char>(line[cut - 1]) >= 0xc0 ? cut - 1 : line.size();
}

constexpr std::size_t kLongestJsonLine = 64 << 20;
constexpr std::size_t kPiece = 256 << 10;

constexpr const char* kAsItIs =
    "JSON Lines needs one JSON object per line; --skip-broken skips other lines, reader text "
    "reads the file as it is";

// The fields that hold a text, for the hint.
std::string texts_of(const nlohmann::json& object) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string() && names.size() < kShown) names.push_back(printable(name));
  }
  if (names.empty()) return "none of its fields is a text";
  return fmt::format("it has texts in {}; choose one with --text-field, or text_field in a recipe",
                     fmt::join(names, ", "));
}

// Passes bytes on unchanged, line ends and blank lines included, in parts that end at the end of a
// line or document. A document ends at the end of the file, and before the first character that
// begins at or after each cut (bytes from the file's beginning, ascending).
class VerbatimText : public DocumentReader {
 public:
  VerbatimText(std::span<const std::uint64_t> cuts, CorpusSink& sink) : cuts_(cuts), sink_(sink) {}

  void feed(std::string_view bytes) override {
    while (!bytes.empty()) {
      const bool may_end = begins_character(bytes.front());
      if (!cuts_.empty() && position_ >= cuts_.front() && may_end) {
        end_part();
        sink_.end_document();
        cuts_ = cuts_.subspan(1);
      }
      if (pending_.size() >= kLongestTextLine && may_end) end_part();
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
  void end_file() override {
    end_part();
    sink_.end_document();
  }
  bool had_text() const override { return position_ > 0; }

 private:
  std::span<const std::uint64_t> cuts_;  // that are still to come
  CorpusSink& sink_;
  std::string pending_;         // the begin of a part
  std::uint64_t position_ = 0;  // in the file, of the byte after `pending_`

  void end_part() {
    if (!pending_.empty()) sink_.part(pending_);
    pending_.clear();
  }
};

// Reads a page of LibreOffice's help as one document with one line per paragraph.
class HelpDocument : public DocumentReader {
 public:
  HelpDocument(std::string file, CorpusSink& sink) : file_(std::move(file)), sink_(sink) {}

  void feed(std::string_view bytes) override {
    page_ += bytes;
    if (page_.size() <= kLargestPage) return;
    throw_failure(file_, "is larger than 64 MiB, so no help page", "read it with --reader text");
  }
  void end_file() override {
    for (const HelpParagraph& paragraph : parse_help_page(page_)) {
      sink_.line(paragraph.text);
      had_text_ = true;
    }
    if (had_text_) sink_.end_document();
  }
  bool had_text() const override { return had_text_; }

 private:
  static constexpr std::size_t kLargestPage = 64 << 20;
  std::string file_;
  CorpusSink& sink_;
  std::string page_;
  bool had_text_ = false;
};

}  // namespace

std::unique_ptr<DocumentReader> open_documents(CorpusReader reader, const std::string& file,
                                               const CorpusOptions& options, CorpusSink& sink) {
  switch (reader) {
    case CorpusReader::automatic:
    case CorpusReader::text:
      return std::make_unique<DocumentSplitter>(options.separator, sink);
    case CorpusReader::json_lines:
      return std::make_unique<JsonDocuments>(file, options.text_field, sink, options.skip_broken);
    case CorpusReader::verbatim:
      return std::make_unique<VerbatimText>(options.cuts, sink);
    case CorpusReader::libreoffice_help:
      return std::make_unique<HelpDocument>(file, sink);
  }
  ROFORMER_ASSERT(false);
  return nullptr;
}

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
    const std::string_view part = without_mark(std::string_view(pending_).substr(0, cut));
    begin_text();
    sink_.part(part);
    pending_.erase(0, cut);
    inside_line_ = true;
  }
}

// If a line was cut exactly at its end, no text is left, but its line end still follows.
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

// Holds blank lines back until text follows in the same document.
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
    if (pending_.size() + part.size() > kLongestJsonLine) {
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
  if (++lines_ == 1 && line.starts_with(kTextMark)) line.remove_prefix(kTextMark.size());
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
  // Passes the page on in pieces, as a file arrives. The splitter keeps only a limited part of a
  // long line.
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
  return ending == ".jsonl" || ending == ".ndjson" || ending == ".parquet";
}

}  // namespace roformer
