#include "text/plain_tokenizers.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/as_number.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/characters.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"

namespace roformer {
namespace {

// The special tokens of these names, whose ids begin at `first`.
AddedTokens special_names(const std::vector<std::string>& names, TokenId first) {
  AddedTokens tokens;
  for (const std::string& name : names) {
    tokens.insert({.content = name, .id = first++, .special = true});
  }
  return tokens;
}

class ByteTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }

  void encode_prompt(std::string_view text, std::vector<TokenId>& ids) const override {
    const ValidText valid(text);  // the names are found in characters
    if (valid.text != text) return encode(text, ids);
    names_.split(
        text, SpecialNames::tokens, [&](std::string_view part) { encode(part, ids); },
        [&](TokenId id) { ids.push_back(id); });
  }

  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    text.reserve(ids.size());
    for (const TokenId id : ids) {
      ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
      if (id < kBytes) {
        text += static_cast<char>(id);
      } else if (with_special) {
        text += piece(id);
      }
    }
    return text;
  }

  std::int64_t vocabulary_size() const override { return kBytes + std::ssize(kSpecialPieces); }
  // Printable ASCII as itself, any other byte as <0xNN>.
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    if (id >= kBytes) return kSpecialPieces[static_cast<std::size_t>(id - kBytes)];
    if (id > ' ' && id < 0x7f) return std::string(1, static_cast<char>(id));
    return fmt::format("<0x{:02X}>", id);
  }
  const SpecialTokens& special() const override { return special_; }
  // White space opens the word that follows it, as U+2581 does in SentencePiece.
  bool begins_word(TokenId id) const override {
    return id == ' ' || (id >= '\t' && id <= '\r') || id >= kBytes;
  }
  bool keeps_line_ends() const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::bytes; }
  const std::string& file_contents() const override { return no_file_; }
  std::string description() const override { return "bytes"; }

 private:
  static constexpr TokenId kBytes = 256;
  static constexpr std::array<const char*, 4> kSpecialPieces = {"[PAD]", "[CLS]", "[SEP]",
                                                                "[MASK]"};
  SpecialTokens special_{
      .padding = 256, .unknown = -1, .classification = 257, .separator = 258, .mask = 259};
  AddedTokens names_ = special_names({kSpecialPieces.begin(), kSpecialPieces.end()}, kBytes);
  std::string no_file_;
};

constexpr std::string_view kCharacterFormat = "roformer characters";
constexpr TokenId kFirstCharacter = 5;

class CharacterTokenizer final : public VocabularyTokenizer {
 public:
  CharacterTokenizer(std::string contents, const std::vector<std::string>& characters)
      : VocabularyTokenizer(TokenizerKind::characters, std::move(contents)) {
    pieces_ = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    special_ = {.padding = 0, .unknown = 1, .classification = 2, .separator = 3, .mask = 4};
    names_ = special_names(pieces_, 0);
    for (const std::string& character : characters) {
      std::size_t position = 0;
      ids_[next_code_point(character, position)] = static_cast<TokenId>(pieces_.size());
      pieces_.push_back(character);
    }
  }

  // An unknown character is written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id == special_.unknown && !with_special) {
        append_utf8(text, 0xFFFD);
      } else if (!is_special(id) || with_special) {
        text += piece(id);
      }
    }
    return text;
  }

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
      const bool unspaced = begins_unspaced(piece(ids[i]));
      if (unspaced || after_unspaced) begins[i] = 1;
      after_unspaced = unspaced;
    }
  }
  bool keeps_line_ends() const override { return true; }

 private:
  std::unordered_map<char32_t, TokenId> ids_;
  AddedTokens names_;

  void encode_text(std::string_view text, SpecialNames names,
                   std::vector<TokenId>& ids) const override {
    if (names == SpecialNames::letters) return encode_characters(text, ids);
    names_.split(
        text, names, [&](std::string_view part) { encode_characters(part, ids); },
        [&](TokenId id) { ids.push_back(id); });
  }

  void encode_characters(std::string_view text, std::vector<TokenId>& ids) const {
    ids.reserve(ids.size() + text.size());
    for (std::size_t position = 0; position < text.size();) {
      const auto found = ids_.find(next_code_point(text, position));
      ids.push_back(found == ids_.end() ? special_.unknown : found->second);
    }
  }
};

bool is_one_character(const std::string& text) {
  if (text.empty() || !is_valid_utf8(text)) return false;
  std::size_t position = 0;
  next_code_point(text, position);
  return position == text.size();
}

constexpr std::string_view kIdModel = "roformer ids\n";

class IdTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  IdTokenizer(std::string contents, std::int64_t vocabulary)
      : contents_(std::move(contents)), vocabulary_(vocabulary) {}

  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    constexpr std::string_view kSpaces = " \t\r\n";
    std::size_t begin = text.find_first_not_of(kSpaces);
    while (begin != std::string_view::npos) {
      const std::size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
      const std::string_view word = text.substr(begin, end - begin);
      const std::int64_t id = as_number<std::int64_t>(word).value_or(-1);
      if (id < 0 || id >= vocabulary_) {
        throw_usage("text",
                    fmt::format("{} is no id from 0 to {}", printable(word), vocabulary_ - 1),
                    "this model takes the ids that its own tokenizer gives: \"17 4 25\"");
      }
      ids.push_back(static_cast<TokenId>(id));
      begin = text.find_first_not_of(kSpaces, end);
    }
  }

  std::string decode(std::span<const TokenId> ids, bool) const override {
    return fmt::format("{}", fmt::join(ids, " "));
  }

  std::int64_t vocabulary_size() const override { return vocabulary_; }
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_);
    return std::to_string(id);
  }
  const SpecialTokens& special() const override { return special_; }
  bool begins_word(TokenId) const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::ids; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override { return fmt::format("ids below {}", vocabulary_); }

 private:
  std::string contents_;
  std::int64_t vocabulary_;
  SpecialTokens special_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

bool is_character_vocabulary(std::string_view contents) {
  return is_vocabulary_json(contents, kCharacterFormat);
}

std::unique_ptr<Tokenizer> make_character_tokenizer(std::string contents,
                                                    const std::string& location) {
  const nlohmann::json json = parse_vocabulary_json(contents, kCharacterFormat, location);
  const nlohmann::json list = json.value("characters", nlohmann::json());
  if (!list.is_array() || list.empty()) {
    throw_failure(location, "lacks the list \"characters\"");
  }
  std::vector<std::string> characters;
  std::unordered_map<std::string, std::size_t> seen;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_string() || !is_one_character(entry.get<std::string>())) {
      throw_failure(location, fmt::format("entry {} of \"characters\" is not one character: {}",
                                          characters.size() + 1, describe_json(entry)));
    }
    characters.push_back(entry.get<std::string>());
    if (!seen.emplace(characters.back(), characters.size()).second) {
      throw_failure(location, fmt::format("\"characters\" lists {} twice", describe_json(entry)));
    }
  }
  return std::make_unique<CharacterTokenizer>(std::move(contents), characters);
}

void CharacterCounter::add(std::string_view raw) {
  const ValidText valid(raw);
  for (std::size_t position = 0; position < valid.text.size();) {
    ++counts_[next_code_point(valid.text, position)];
  }
}

std::string CharacterCounter::vocabulary(std::int64_t size) const {
  if (counts_.empty()) throw_failure("training of the tokenizer", "there is no text");
  if (size <= kFirstCharacter) {
    throw_failure("training of the tokenizer",
                  fmt::format("{} pieces leave no room for characters beside the {} special tokens",
                              size, kFirstCharacter),
                  "give more --pieces");
  }
  auto sorted = by_frequency(counts_);
  sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(size - kFirstCharacter)));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [character, count] : sorted) {
    std::string text;
    append_utf8(text, character);
    list.push_back(text);
  }
  const nlohmann::ordered_json json = {
      {"format", kCharacterFormat}, {"version", 1}, {"characters", list}};
  return json.dump() + "\n";
}

std::unique_ptr<Tokenizer> make_id_tokenizer(std::string contents, const std::string& location) {
  std::int64_t vocabulary = -1;
  if (is_id_model(contents) && contents.ends_with('\n')) {
    const std::string_view text = contents;
    vocabulary =
        as_number<std::int64_t>(text.substr(kIdModel.size(), text.size() - kIdModel.size() - 1))
            .value_or(-1);
  }
  if (vocabulary < 1 || vocabulary > std::numeric_limits<TokenId>::max()) {
    throw_failure(location, "does not say how many ids there are",
                  "its two lines are \"roformer ids\" and a number");
  }
  return std::make_unique<IdTokenizer>(std::move(contents), vocabulary);
}

std::string id_model(std::int64_t vocabulary) {
  return fmt::format("{}{}\n", kIdModel, vocabulary);
}

bool is_id_model(std::string_view contents) {
  return contents.starts_with(kIdModel);
}

}  // namespace roformer
