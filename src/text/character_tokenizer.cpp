#include "text/character_tokenizer.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "text/unspaced_script.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr const char* kCharactersFormat = "roformer characters";
constexpr int kCharactersVersion = 1;
constexpr std::array<const char*, 5> kCharactersSpecialPieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                                 "[MASK]"};
constexpr auto kFirstCharacter = static_cast<TokenId>(kCharactersSpecialPieces.size());
constexpr TokenId kUnknown = 1;

class CharacterTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  CharacterTokenizer(std::string contents, std::vector<std::string> characters)
      : contents_(std::move(contents)), characters_(std::move(characters)) {
    for (std::size_t i = 0; i < characters_.size(); ++i) {
      std::size_t position = 0;
      ids_[next_code_point(characters_[i], position)] = kFirstCharacter + static_cast<TokenId>(i);
    }
  }

  void encode(std::string_view raw, std::vector<TokenId>& ids) const override {
    std::string repaired;
    std::uint64_t replaced = 0;
    const std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);
    ids.reserve(ids.size() + text.size());
    for (std::size_t position = 0; position < text.size();) {
      const auto found = ids_.find(next_code_point(text, position));
      ids.push_back(found == ids_.end() ? kUnknown : found->second);
    }
  }

  // An unknown character is written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id == kUnknown && !with_special) {
        append_utf8(text, 0xFFFD);
      } else if (!is_special(id) || with_special) {
        text += piece(id);
      }
    }
    return text;
  }

  std::int64_t vocabulary_size() const override {
    return kFirstCharacter + static_cast<std::int64_t>(characters_.size());
  }
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    return id < kFirstCharacter ? kCharactersSpecialPieces[static_cast<std::size_t>(id)]
                                : characters_[static_cast<std::size_t>(id - kFirstCharacter)];
  }
  const SpecialTokens& special() const override { return special_; }
  // White space opens the word that follows it; an ideograph is a word.
  bool begins_word(TokenId id) const override {
    if (id < kFirstCharacter) return true;
    std::size_t position = 0;
    const auto c = static_cast<UChar32>(next_code_point(piece(id), position));
    return u_isUWhiteSpace(c) || u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC);
  }
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
    bool after_unspaced = false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string character = piece(ids[i]);
      const bool unspaced = begins_unspaced(character);
      if (unspaced || after_unspaced) begins[i] = 1;
      after_unspaced = unspaced;
    }
  }
  bool keeps_line_ends() const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::characters; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override { return "characters"; }

 private:
  std::string contents_;
  std::vector<std::string> characters_;
  std::unordered_map<char32_t, TokenId> ids_;
  SpecialTokens special_{
      .padding = 0, .unknown = kUnknown, .classification = 2, .separator = 3, .mask = 4};
};

bool is_character_list(const nlohmann::json& json) {
  return json.is_object() && json.value("format", nlohmann::json()) == kCharactersFormat;
}

bool is_one_character(const std::string& text) {
  std::string storage;
  std::uint64_t replaced = 0;
  if (text.empty() || repair_utf8(text, storage, replaced) != text || replaced > 0) return false;
  std::size_t position = 0;
  next_code_point(text, position);
  return position == text.size();
}

}  // namespace

bool is_character_vocabulary(std::string_view contents) {
  const auto json = try_parse_json(contents);
  return json && is_character_list(*json);
}

std::unique_ptr<Tokenizer> make_character_tokenizer(std::string contents,
                                                    const std::string& location) {
  const auto json = parse_json(contents, location);
  if (!is_character_list(json)) {
    throw_failure(location, fmt::format("is not a character vocabulary: no \"format\": \"{}\"",
                                        kCharactersFormat));
  }
  const auto version = json.value("version", nlohmann::json());
  if (version != kCharactersVersion) {
    throw_failure(location, fmt::format("has version {}, this program reads version {}",
                                        describe_json(version), kCharactersVersion));
  }
  const auto list = json.value("characters", nlohmann::json());
  if (!list.is_array() || list.empty()) {
    throw_failure(location, "lacks the list \"characters\"");
  }
  std::vector<std::string> characters;
  std::unordered_map<std::string, std::size_t> seen;
  for (const auto& entry : list) {
    if (!entry.is_string() || !is_one_character(entry.get<std::string>())) {
      throw_failure(location, fmt::format("entry {} of \"characters\" is not one character: {}",
                                          characters.size() + 1, describe_json(entry)));
    }
    characters.push_back(entry.get<std::string>());
    if (!seen.emplace(characters.back(), characters.size()).second) {
      throw_failure(location, fmt::format("\"characters\" lists {} twice", describe_json(entry)));
    }
  }
  return std::make_unique<CharacterTokenizer>(std::move(contents), std::move(characters));
}

void CharacterCounter::add(std::string_view raw) {
  std::string repaired;
  std::uint64_t replaced = 0;
  const std::string_view text = repair_utf8(raw, repaired, replaced);
  for (std::size_t position = 0; position < text.size();)
    ++counts_[next_code_point(text, position)];
}

std::string CharacterCounter::vocabulary(std::int64_t size) const {
  if (counts_.empty()) throw_failure("training of the tokenizer", "there is no text");
  if (size <= kFirstCharacter) {
    throw_failure(
        "training of the tokenizer",
        fmt::format("{} pieces leave no place for characters beside the {} special tokens", size,
                    kFirstCharacter),
        "give more --pieces");
  }
  std::vector<std::pair<char32_t, std::uint64_t>> sorted(counts_.begin(), counts_.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
    return left.second != right.second ? left.second > right.second : left.first < right.first;
  });
  sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(size - kFirstCharacter)));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [character, count] : sorted) {
    std::string text;
    append_utf8(text, character);
    list.push_back(text);
  }
  const nlohmann::ordered_json json = {
      {"format", kCharactersFormat}, {"version", kCharactersVersion}, {"characters", list}};
  return json.dump() + "\n";
}

}  // namespace roformer
