#include "text/word_tokenizer.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "text/added_tokens.h"
#include "text/bert_normalization.h"
#include "text/utf8.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace {

constexpr const char* kWordsFormat = "roformer words";
constexpr int kWordsVersion = 1;

// Each character on its own, without regard to its neighbours, as RoFormerTokenizer does.
std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const char32_t character = next_code_point(text, position);
    constexpr char32_t kDottedI = 0x130;
    append_utf8(result, static_cast<char32_t>(u_tolower(static_cast<UChar32>(character))));
    if (character == kDottedI) append_utf8(result, 0x307);
  }
  return result;
}

bool is_chinese(char32_t c) {
  return c >= 0x4E00 && c <= 0x9FD5;
}

// A piece of one Chinese character.
bool is_chinese_character(std::string_view piece) {
  if (piece.size() != 3) return false;
  std::size_t position = 0;
  return is_chinese(next_code_point(piece, position));
}

struct WordModel {
  WordFiles files;
  std::string contents;
  std::string location;
};

class WordTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  explicit WordTokenizer(WordModel model)
      : contents_(std::move(model.contents)),
        cased_(model.files.cased),
        characters_(model.files.characters),
        dictionary_(model.files.dictionary, model.files.dictionary_location),
        pieces_(make_wordpiece_tokenizer({.contents = std::move(model.files.vocabulary),
                                          .cased = cased_,
                                          .location = model.files.vocabulary_location})) {
    for (TokenId id = 0; id < static_cast<TokenId>(pieces_->vocabulary_size()); ++id) {
      if (pieces_->is_special(id)) {
        named_.insert({.content = pieces_->piece(id), .id = id, .special = true});
      } else {
        ids_[pieces_->piece(id)] = id;
      }
    }
  }

  void encode(std::string_view raw, std::vector<TokenId>& ids) const override {
    std::string repaired;
    std::uint64_t replaced = 0;
    std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);
    if (characters_) return pieces_->encode(text, ids);
    std::string lowered;
    if (!cased_) text = lowered = lower_case(text);
    std::vector<std::size_t> ends;
    dictionary_.cut(text, ends);
    std::size_t begin = 0;
    std::string word;
    for (const std::size_t end : ends) {
      word.assign(text.substr(begin, end - begin));
      begin = end;
      if (const auto found = ids_.find(word); found != ids_.end()) {
        ids.push_back(found->second);
      } else {
        pieces_->encode(word, ids);
      }
    }
  }

  void encode_prompt(std::string_view raw, std::vector<TokenId>& ids) const override {
    std::string repaired;
    std::uint64_t replaced = 0;
    const std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);
    named_.split(
        text, SpecialNames::tokens, [&](std::string_view part) { encode(part, ids); },
        [&](TokenId id) { ids.push_back(id); });
  }

  // Spaces stand only between words that are not Chinese.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    bool joins = true;
    for (const TokenId id : ids) {
      const SpecialTokens& special = pieces_->special();
      if (!with_special && pieces_->is_special(id) && id != special.unknown) continue;
      const std::string piece = pieces_->piece(id);
      if (!text.empty() && !pieces_->begins_word(id)) {
        text += std::string_view(piece).substr(kContinuation.size());
        continue;
      }
      std::size_t position = 0;
      const bool chinese = !piece.empty() && next_code_point(piece, position) >= 0x2E80;
      if (!text.empty() && !chinese && !joins) text += ' ';
      text += piece;
      joins = chinese;
    }
    return text;
  }

  std::int64_t vocabulary_size() const override { return pieces_->vocabulary_size(); }
  std::string piece(TokenId id) const override { return pieces_->piece(id); }
  const SpecialTokens& special() const override { return pieces_->special(); }
  bool begins_word(TokenId id) const override { return pieces_->begins_word(id); }
  // Runs of single characters are cut into the dictionary's words again: between two places where
  // the text was cut, its most probable words are the same ones.
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
    std::string run;
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < ids.size();) {
      run.clear();
      const std::size_t first = i;
      for (; i < ids.size(); ++i) {
        const std::string piece = pieces_->piece(ids[i]);
        if (!is_chinese_character(piece)) break;
        run += piece;
      }
      if (i == first) {
        ++i;
        continue;
      }
      ends.clear();
      dictionary_.cut(run, ends);
      std::fill(begins.begin() + static_cast<std::ptrdiff_t>(first + 1),
                begins.begin() + static_cast<std::ptrdiff_t>(i), char{0});
      for (const std::size_t end : ends) {
        if (end < run.size()) begins[first + end / 3] = 1;
      }
    }
  }
  TokenizerKind kind() const override { return TokenizerKind::words; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override {
    return fmt::format("words{}{}", cased_ ? " cased" : " uncased",
                       characters_ ? ", one character a piece" : "");
  }

 private:
  std::string contents_;
  bool cased_;
  bool characters_;
  WordDictionary dictionary_;
  std::unique_ptr<Tokenizer> pieces_;
  std::unordered_map<std::string, TokenId> ids_;
  AddedTokens named_;  // special ones
};

WordModel parse_model(std::string contents, const std::string& location) {
  const nlohmann::json document = parse_json(contents, location);
  const auto field = [&](const char* key, nlohmann::json::value_t type) -> const nlohmann::json& {
    const auto found = document.find(key);
    if (found == document.end() || found->type() != type) {
      throw_failure(location, fmt::format("lacks \"{}\", or it is of another type", key));
    }
    return *found;
  };
  if (!document.is_object() || document.value("format", nlohmann::json()) != kWordsFormat) {
    throw_failure(location, "is not a model of words of this program");
  }
  if (document.value("version", nlohmann::json()) != kWordsVersion) {
    throw_failure(location, fmt::format("has another version than {}, which this program reads",
                                        kWordsVersion));
  }
  using Type = nlohmann::json::value_t;
  WordFiles files{.vocabulary = field("vocabulary", Type::string).get<std::string>(),
                  .vocabulary_location = location + " (vocabulary)",
                  .dictionary = field("dictionary", Type::string).get<std::string>(),
                  .dictionary_location = location + " (dictionary)",
                  .cased = field("cased", Type::boolean).get<bool>(),
                  .characters = field("characters", Type::boolean).get<bool>()};
  return {.files = std::move(files), .contents = std::move(contents), .location = location};
}

}  // namespace

std::string word_model(const WordFiles& files) {
  // Both are read for their mistakes, which the files' own names and lines tell.
  make_wordpiece_tokenizer({.contents = files.vocabulary, .location = files.vocabulary_location});
  const WordDictionary dictionary(files.dictionary, files.dictionary_location);
  const nlohmann::ordered_json model = {
      {"format", kWordsFormat},         {"version", kWordsVersion},
      {"cased", files.cased},           {"characters", files.characters},
      {"vocabulary", files.vocabulary}, {"dictionary", files.dictionary}};
  return model.dump() + "\n";
}

bool is_word_model(std::string_view contents) {
  return contents.starts_with("{") &&
         contents.substr(0, 100).find(kWordsFormat) != std::string_view::npos;
}

std::unique_ptr<Tokenizer> make_word_tokenizer(std::string contents, const std::string& location) {
  return std::make_unique<WordTokenizer>(parse_model(std::move(contents), location));
}

WordFiles word_files(const Tokenizer& tokenizer) {
  ROFORMER_ASSERT(tokenizer.kind() == TokenizerKind::words);
  return parse_model(tokenizer.file_contents(), tokenizer.file_name()).files;
}

WordCounter::WordCounter(const WordDictionary& dictionary, bool cased)
    : dictionary_(dictionary), cased_(cased) {}

void WordCounter::add(std::string_view raw) {
  std::string repaired, lowered;
  std::uint64_t replaced = 0;
  std::string_view text = repair_utf8(raw, repaired, replaced);
  if (!cased_) text = lowered = lower_case(text);
  std::vector<std::size_t> ends;
  dictionary_.cut(text, ends);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    ++words_[std::string(text.substr(begin, end - begin))];
    begin = end;
  }
}

std::string WordCounter::vocabulary(std::int64_t size) const {
  return most_frequent(size, false);
}

std::string WordCounter::characters(std::int64_t size) const {
  return most_frequent(size, true);
}

std::string WordCounter::most_frequent(std::int64_t size, bool characters) const {
  const BertNormalization& normalization =
      cased_ ? BertNormalization::cased() : BertNormalization::uncased();
  std::unordered_map<std::string, std::uint64_t> counts;
  for (const auto& [word, count] : words_) {
    const std::vector<std::string> parts = normalization.plain_words(word);
    if (parts.empty()) continue;  // white space
    if (!characters || parts.size() == 1) counts[word] += count;
    for (const std::string& part : parts) {
      for (std::size_t position = 0; position < part.size();) {
        const std::size_t start = position;
        next_code_point(part, position);
        std::string piece = part.substr(start, position - start);
        if (piece == word) continue;  // counted already
        counts[start > 0 ? std::string(kContinuation) + piece : std::move(piece)] += count;
      }
    }
  }
  if (counts.empty()) throw_failure("words", "there is no text to count");
  std::vector<std::pair<std::string_view, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  constexpr std::int64_t kSpecial = 5;
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(size - kSpecial, 0));
  for (std::size_t i = 0; i < std::min(kept, sorted.size()); ++i) {
    text += sorted[i].first;
    text += '\n';
  }
  return text;
}

}  // namespace roformer
