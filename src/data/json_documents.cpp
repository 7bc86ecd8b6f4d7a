#include "data/json_documents.h"

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
