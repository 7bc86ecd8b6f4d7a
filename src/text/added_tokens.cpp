#include "text/added_tokens.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// The length of the longest token. A search may read this many extra bytes at each byte of a text.
constexpr std::size_t kMostBytes = 1024;

void check_length(const std::string& content, const std::string& location) {
  if (content.size() > kMostBytes) {
    throw_failure(location, fmt::format("has an added token of {} bytes, more than {}: {}",
                                        content.size(), kMostBytes, printable(content)));
  }
}

bool is_white(std::string_view text, std::size_t position) {
  return u_isUWhiteSpace(static_cast<UChar32>(next_code_point(text, position)));
}

// Where the white space before `position` begins, but not before `least`.
std::size_t white_before(std::string_view text, std::size_t position, std::size_t least) {
  while (position > least) {
    const std::size_t before = character_before(text, position);
    if (!is_white(text, before)) break;
    position = before;
  }
  return position;
}

std::size_t white_after(std::string_view text, std::size_t position) {
  while (position < text.size() && is_white(text, position)) next_code_point(text, position);
  return position;
}

}  // namespace

nlohmann::json json_or_null(const nlohmann::json& object, const char* name) {
  return object.is_object() ? object.value(name, nlohmann::json()) : nlohmann::json();
}

bool json_flag(const nlohmann::json& object, const char* name, bool otherwise,
               const std::string& location) {
  const nlohmann::json value = json_or_null(object, name);
  if (value.is_null()) return otherwise;
  if (value.is_boolean()) return value.get<bool>();
  throw_failure(location,
                fmt::format("\"{}\" is {}, not true or false", name, describe_json(value)));
}

std::string json_word(const nlohmann::json& object, const char* name, const std::string& location) {
  const nlohmann::json value = json_or_null(object, name);
  if (value.is_string()) return value.get<std::string>();
  throw_failure(location, fmt::format("\"{}\" is {}, not a text", name, describe_json(value)));
}

AddedToken parse_added_token(const nlohmann::json& entry, const std::string& location) {
  if (!entry.is_object()) throw_failure(location, "has an added token that is no object");
  AddedToken token = {.content = json_word(entry, "content", location)};
  if (token.content.empty()) throw_failure(location, "has an added token without characters");
  check_length(token.content, location);
  token.special = json_flag(entry, "special", false, location);
  token.single_word = json_flag(entry, "single_word", false, location);
  token.takes_before = json_flag(entry, "lstrip", false, location);
  token.takes_after = json_flag(entry, "rstrip", false, location);
  token.normalized = json_flag(entry, "normalized", !token.special, location);
  return token;
}

nlohmann::ordered_json added_token_json(const AddedToken& token) {
  return {{"id", token.id},
          {"content", token.content},
          {"single_word", token.single_word},
          {"lstrip", token.takes_before},
          {"rstrip", token.takes_after},
          {"normalized", token.normalized},
          {"special", token.special}};
}

void check_added_ids(const std::vector<AddedToken>& tokens,
                     const std::function<TokenId(const std::string&)>& known, std::int64_t pieces,
                     const std::string& location) {
  std::unordered_set<std::string> seen;
  std::int64_t next = pieces;
  for (const AddedToken& token : tokens) {
    if (!seen.insert(token.content).second) {
      throw_failure(location, fmt::format("adds the token {} twice", printable(token.content)));
    }
    const TokenId id = known(token.content);
    if (id >= 0 && id != token.id) {
      throw_failure(location,
                    fmt::format("numbers {} {} in its vocabulary and {} among its added tokens",
                                printable(token.content), id, token.id));
    }
    if (id < 0 && token.id != next) {
      throw_failure(location, fmt::format("numbers the added token {} {} where {} is the next id",
                                          printable(token.content), token.id, next));
    }
    next = std::max<std::int64_t>(next, token.id + 1);
  }
}

void AddedTokens::insert(AddedToken token) {
  check_length(token.content, "tokenizer");  // of a vocabulary's own tokens, and of normalised ones
  trie_.insert(token.content, static_cast<std::int32_t>(tokens_.size()));
  plain_ += token.special ? 0 : 1;
  tokens_.push_back(std::move(token));
}

bool AddedTokens::stands_alone(std::string_view text, std::size_t begin, std::size_t end) const {
  if (begin > 0) {
    std::size_t before = character_before(text, begin);
    if (is_word_character(next_code_point(text, before))) return false;
  }
  return end == text.size() || !is_word_character(next_code_point(text, end));
}

// If a token took the white space after it, it may end after the beginning of the next match. The
// text between is then read again, as in the reference.
void AddedTokens::split(std::string_view text, SpecialNames special,
                        const std::function<void(std::string_view)>& on_text,
                        const std::function<void(TokenId)>& on_token) const {
  const bool finds_special = special == SpecialNames::tokens;
  std::size_t done = 0;
  std::size_t white_end = 0;  // of the last white space
  for (std::size_t position = 0; position < text.size() && !tokens_.empty();) {
    const PieceTrie::Match match = trie_.longest_prefix(text.substr(position));
    if (match.id < 0) {
      ++position;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.id)];
    std::size_t begin = position;
    std::size_t end = position + match.length;
    position = end;
    if (token.special && !finds_special) continue;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.takes_before) begin = std::max(white_before(text, begin, done), done);
    if (token.takes_after) {
      // A match inside white space that was already read does not read it again.
      if (end >= white_end) white_end = white_after(text, end);
      end = white_end;
    }
    if (done < begin) on_text(text.substr(done, begin - done));
    on_token(token.id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

void LayeredTokens::insert(AddedToken token) {
  (token.normalized ? in_normal_text_ : in_text_).insert(std::move(token));
}

void LayeredTokens::split(std::string_view text, SpecialNames special, const Normalize& normalize,
                          const std::function<void(std::string_view, std::string_view)>& on_text,
                          const std::function<void(TokenId)>& on_token) const {
  in_text_.split(
      text, special,
      [&](std::string_view part) {
        if (!normalize) return on_text(part, part);
        const std::string normal = normalize(part);
        in_normal_text_.split(
            normal, special, [&](std::string_view piece) { on_text(piece, normal); }, on_token);
      },
      on_token);
}

}  // namespace roformer
