#include "text/wordpiece_model.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace roformer {
namespace {

constexpr const char* kWordPieceFormat = "roformer wordpiece";
constexpr int kWordPieceVersion = 1;

// Of text that need not be UTF-8.
std::string_view without_white_end(std::string_view line) {
  auto end = static_cast<std::int32_t>(line.size());
  while (end > 0) {
    std::int32_t before = end;
    UChar32 c = 0;
    U8_PREV(line.data(), 0, before, c);
    if (c < 0 || !u_isUWhiteSpace(c)) break;
    end = before;
  }
  return line.substr(0, static_cast<std::size_t>(end));
}

}  // namespace

std::vector<std::string> vocabulary_lines(std::string_view contents) {
  std::vector<std::string> lines;
  while (!contents.empty()) {
    const std::size_t end = std::min(contents.find('\n'), contents.size());
    lines.emplace_back(without_white_end(contents.substr(0, end)));
    contents.remove_prefix(std::min(end + 1, contents.size()));
  }
  return lines;
}

bool is_plain_bert(const WordPieceModel& model) {
  return model.added.empty() && (model.rules == kCasedBert || model.rules == kUncasedBert);
}

std::string wordpiece_contents(const WordPieceModel& model) {
  if (is_plain_bert(model)) return model.vocabulary;
  nlohmann::ordered_json document = {{"format", kWordPieceFormat},
                                     {"version", kWordPieceVersion},
                                     {"lower_case", model.rules.lower_case},
                                     {"strip_accents", model.rules.strip_accents},
                                     {"chinese_characters", model.rules.chinese_characters},
                                     {"added_tokens", nlohmann::ordered_json::array()},
                                     {"vocabulary", model.vocabulary}};
  for (const AddedToken& token : model.added) {
    document["added_tokens"].push_back(added_token_json(token));
  }
  return document.dump() + "\n";
}

bool is_wordpiece_model(std::string_view contents) {
  return contents.starts_with("{") &&
         contents.substr(0, 100).find(kWordPieceFormat) != std::string_view::npos;
}

WordPieceModel parse_wordpiece_model(std::string_view contents, const std::string& location) {
  const nlohmann::json document = parse_json(contents, location);
  using Type = nlohmann::json::value_t;
  const auto field = [&](const char* key, Type type) -> const nlohmann::json& {
    const auto found = document.find(key);
    if (found == document.end() || found->type() != type) {
      throw_failure(location, fmt::format("lacks \"{}\", or it is of another type", key));
    }
    return *found;
  };
  if (!document.is_object() || document.value("format", nlohmann::json()) != kWordPieceFormat) {
    throw_failure(location, "is not a WordPiece model of this program");
  }
  if (document.value("version", nlohmann::json()) != kWordPieceVersion) {
    throw_failure(location, fmt::format("has another version than {}, which this program reads",
                                        kWordPieceVersion));
  }
  WordPieceModel model{
      .vocabulary = field("vocabulary", Type::string).get<std::string>(),
      .rules = {.lower_case = field("lower_case", Type::boolean).get<bool>(),
                .strip_accents = field("strip_accents", Type::boolean).get<bool>(),
                .chinese_characters = field("chinese_characters", Type::boolean).get<bool>()}};
  for (const nlohmann::json& entry : field("added_tokens", Type::array)) {
    AddedToken token = parse_added_token(entry, location);
    const std::int64_t id = json_integer(entry.value("id", nlohmann::json()), location);
    constexpr std::int64_t kMost = 100'000'000;
    if (id < 0 || id > kMost) throw_failure(location, "has an added token with a wrong id");
    token.id = static_cast<TokenId>(id);
    model.added.push_back(std::move(token));
  }
  return model;
}

}  // namespace roformer
