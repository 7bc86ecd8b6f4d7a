#include "text/word_tokenizer.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "text/bert_normalization.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace {

constexpr std::string_view kWordsFormat = "roformer words";

// Converts each character separately, without regard to its neighbours, as RoFormerTokenizer does.
std::string lower_characters(std::string_view text) {
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

// A piece of one Chinese character.
bool is_chinese_character(std::string_view piece) {
  if (piece.size() != 3) return false;
  std::size_t position = 0;
  const char32_t c = next_code_point(piece, position);
  return c >= 0x4E00 && c <= 0x9FD5;
}

class WordTokenizer final : public VocabularyTokenizer {
 public:
  WordTokenizer(std::string contents, WordFiles files)
      : VocabularyTokenizer(TokenizerKind::words, std::move(contents)),
        cased_(files.cased),
        characters_(files.characters),
        dictionary_(files.dictionary, files.dictionary_location),
        wordpiece_(make_wordpiece_tokenizer({.contents = std::move(files.vocabulary),
                                             .cased = cased_,
                                             .location = files.vocabulary_location})) {
    special_ = wordpiece_->special();
    for (TokenId id = 0; id < static_cast<TokenId>(wordpiece_->vocabulary_size()); ++id) {
      pieces_.push_back(wordpiece_->piece(id));
      if (is_special(id)) {
        named_.insert({.content = pieces_.back(), .id = id, .special = true});
      } else {
        ids_[pieces_.back()] = id;
      }
    }
  }

  // Only words that are not Chinese have spaces between them.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    bool joins = true;
    for (const TokenId id : ids) {
      if (!with_special && is_special(id) && id != special_.unknown) continue;
      const std::string& piece = pieces_[index_of(id)];
      if (!text.empty() && !begins_word(id)) {
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

  bool begins_word(TokenId id) const override { return wordpiece_->begins_word(id); }
  // Cuts runs of single characters into the dictionary's words again. Between two places where the
  // whole text was cut, the most probable words are the same.
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
    std::string run;
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < ids.size();) {
      run.clear();
      const std::size_t first = i;
      for (; i < ids.size(); ++i) {
        const std::string& piece = pieces_[index_of(ids[i])];
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
  std::string description() const override {
    return fmt::format("words{}{}", cased_ ? " cased" : " uncased",
                       characters_ ? ", one character a piece" : "");
  }

 private:
  bool cased_, characters_;
  WordDictionary dictionary_;
  std::unique_ptr<Tokenizer> wordpiece_;
  std::unordered_map<std::string, TokenId> ids_;
  AddedTokens named_;  // special ones

  void encode_text(std::string_view text, SpecialNames names,
                   std::vector<TokenId>& ids) const override {
    if (names == SpecialNames::letters) return encode_words(text, ids);
    named_.split(
        text, names, [&](std::string_view part) { encode_words(part, ids); },
        [&](TokenId id) { ids.push_back(id); });
  }

  void encode_words(std::string_view text, std::vector<TokenId>& ids) const {
    if (characters_) return wordpiece_->encode(text, ids);
    std::string lowered;
    if (!cased_) text = lowered = lower_characters(text);
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
        wordpiece_->encode(word, ids);
      }
    }
  }
};

WordFiles parse_files(std::string_view contents, const std::string& location) {
  const nlohmann::json document = parse_vocabulary_json(contents, kWordsFormat, location);
  const JsonFields fields(document, location);
  return {.vocabulary = fields.text("vocabulary"),
          .vocabulary_location = location + " (vocabulary)",
          .dictionary = fields.text("dictionary"),
          .dictionary_location = location + " (dictionary)",
          .cased = fields.flag("cased"),
          .characters = fields.flag("characters")};
}

}  // namespace

std::string word_model(const WordFiles& files) {
  // Reads both, so that their errors name the original files and lines.
  make_wordpiece_tokenizer({.contents = files.vocabulary, .location = files.vocabulary_location});
  const WordDictionary dictionary(files.dictionary, files.dictionary_location);
  const nlohmann::ordered_json model = {
      {"format", kWordsFormat},         {"version", 1},
      {"cased", files.cased},           {"characters", files.characters},
      {"vocabulary", files.vocabulary}, {"dictionary", files.dictionary}};
  return model.dump() + "\n";
}

bool is_word_model(std::string_view contents) {
  return is_vocabulary_json(contents, kWordsFormat);
}

std::unique_ptr<Tokenizer> make_word_tokenizer(std::string contents, const std::string& location) {
  WordFiles files = parse_files(contents, location);
  return std::make_unique<WordTokenizer>(std::move(contents), std::move(files));
}

WordFiles word_files(const Tokenizer& tokenizer) {
  ROFORMER_ASSERT(tokenizer.kind() == TokenizerKind::words);
  return parse_files(tokenizer.file_contents(), tokenizer.file_name());
}

void WordCounter::add(std::string_view raw) {
  const ValidText valid(raw);
  std::string_view text = valid.text;
  std::string lowered;
  if (!cased_) text = lowered = lower_characters(text);
  std::vector<std::size_t> ends;
  dictionary_.cut(text, ends);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    ++words_[std::string(text.substr(begin, end - begin))];
    begin = end;
  }
}

std::string WordCounter::vocabulary(std::int64_t size, bool characters) const {
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
  const auto sorted = by_frequency(counts);
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
