#include "data/json_documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/blank.h"
#include "base/error.h"
#include "base/json.h"

namespace roformer {
namespace {

constexpr std::size_t kLongestLine = 64 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The fields that hold a text, for the hint.
std::string texts_of(const nlohmann::json& object) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string() && names.size() < kShown) names.push_back(name);
  }
  if (names.empty()) return "none of its fields is a text";
  return fmt::format("its texts are {}: `text_field` of a recipe, --text-field",
                     fmt::join(names, ", "));
}

}  // namespace

JsonDocuments::JsonDocuments(std::string file, std::string field, CorpusSink& sink)
    : file_(std::move(file)), field_(std::move(field)), documents_(DocumentSeparator::file, sink) {}

std::string JsonDocuments::location() const {
  return fmt::format("{}:{}", file_, lines_);
}

void JsonDocuments::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (pending_.size() + part.size() > kLongestLine) {
      ++lines_;
      throw_failure(location(), "a line is longer than 64 MiB",
                    "JSON Lines have an object on each line; --reader text reads it as it stands");
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
}

void JsonDocuments::take_line(std::string_view line) {
  if (++lines_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (is_blank(line)) return;
  const std::optional<nlohmann::json> json = try_parse_json(line);
  if (!json || !json->is_object()) {
    throw_failure(location(), "is not a JSON object in UTF-8",
                  "JSON Lines have an object on each line; --reader text reads it as it stands");
  }
  const auto found = json->find(field_);
  if (found == json->end() || !found->is_string()) {
    const std::string got =
        found == json->end() ? "has no field" : "has " + describe_json(*found) + " as";
    throw_failure(location(), fmt::format("{} \"{}\", wanted a text", got, field_),
                  texts_of(*json));
  }
  documents_.feed(found->get_ref<const std::string&>());
  documents_.end_file();
}

bool is_json_lines(const std::filesystem::path& file) {
  constexpr std::array kCompressed = {".gz", ".bz2", ".xz", ".zst"};
  constexpr std::array kEndings = {".jsonl", ".ndjson"};
  const std::string extension = file.extension().string();
  const bool compressed = std::ranges::find(kCompressed, extension) != kCompressed.end();
  const std::string ending = compressed ? file.stem().extension().string() : extension;
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

}  // namespace roformer
