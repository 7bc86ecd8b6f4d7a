// The readers of tokenizers' files that are fuzzed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/reader.h"
#include "text/byte_level_tokenizer.h"
#include "text/chat_template.h"
#include "text/foreign_files.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/word_dictionary.h"
#include "text/word_tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer::fuzz {

// Whatever the file holds: a text has ids of the vocabulary, and every id a piece.
inline void use_tokenizer(const Tokenizer& tokenizer) {
  const std::string text =
      "Ab ba \xC3\xA9"
      "a, \xE5\x8C\x97\xE4\xBA\xAC ##a [MASK] \xFF 12";
  const std::vector<TokenId> ids = tokenizer.encode(text);
  const auto known = [&](TokenId id) { return id >= 0 && id < tokenizer.vocabulary_size(); };
  ROFORMER_ASSERT(std::all_of(ids.begin(), ids.end(), known));
  std::vector<TokenId> prompt;
  tokenizer.encode_prompt(text, prompt);
  ROFORMER_ASSERT(std::all_of(prompt.begin(), prompt.end(), known));
  std::vector<char> begins;
  tokenizer.find_words(ids, begins);
  ROFORMER_ASSERT(begins.size() == ids.size());
  tokenizer.decode(ids, true);
  const SpecialTokens& special = tokenizer.special();
  for (const TokenId id : {special.padding, special.unknown, special.classification,
                           special.separator, special.mask}) {
    ROFORMER_ASSERT(id == -1 || known(id));
  }
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    tokenizer.piece(id);
    tokenizer.begins_word(id);
    tokenizer.decode(std::vector<TokenId>{id});
  }
}

// The first byte says whether case is kept.
inline void read_wordpiece(std::string_view input) {
  if (input.empty()) return;
  use_tokenizer(*make_wordpiece_tokenizer(
      {.contents = std::string(input.substr(1)), .cased = input[0] % 2 == 1, .location = kFile}));
}

inline void read_sentencepiece(std::string_view input) {
  use_tokenizer(*make_sentencepiece_tokenizer(std::string(input), kFile));
}

// A template of a chat model
inline void read_chat_template(std::string_view input) {
  render_chat(
      {.source = std::string(input), .begin = "<s>", .end = ""},
      {{.role = "system", .content = "Be brief."}, {.role = "user", .content = "a \xC3\xA9"}});
}

// tokenizer.json with a BPE or unigram model
inline void read_byte_level(std::string_view input) {
  use_tokenizer(*make_byte_level_tokenizer(std::string(input), kFile));
}

// tiktoken's ranks
inline void read_ranks(std::string_view input) {
  read_byte_level(tokenizer_json_of_tiktoken(input, "cl100k_base", kFile));
}

// vocab.json, a zero, merges.txt
inline void read_merges(std::string_view input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  read_byte_level(
      tokenizer_json_of({.vocabulary = std::string(input.substr(0, end)),
                         .merges = std::string(input.substr(std::min(end + 1, input.size()))),
                         .location = kFile}));
}

// words.json
inline void read_words(std::string_view input) {
  const auto tokenizer = make_word_tokenizer(std::string(input), kFile);
  use_tokenizer(*tokenizer);
  word_files(*tokenizer);
}

// Words lie end to end.
inline void read_dictionary(std::string_view input) {
  const WordDictionary dictionary(input, kFile);
  const std::string text = "a1 \xE5\x8C\x97\xE4\xBA\xAC\xE5\xA4\xA7 ab-c. x";
  std::vector<std::size_t> ends;
  dictionary.cut(text, ends);
  ROFORMER_ASSERT(!ends.empty() && ends.front() > 0 && ends.back() == text.size());
  ROFORMER_ASSERT(std::is_sorted(ends.begin(), ends.end(), std::less_equal<>()));
}

inline constexpr Reader kReaders[] = {
    {"wordpiece", read_wordpiece},   {"sentencepiece", read_sentencepiece},
    {"byte_level", read_byte_level}, {"chat_template", read_chat_template},
    {"words", read_words},           {"dictionary", read_dictionary},
    {"ranks", read_ranks},           {"merges", read_merges}};

}  // namespace roformer::fuzz
