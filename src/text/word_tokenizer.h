// The tokenizer of the Chinese RoFormer and of WoBERT. It cuts the text into the words of a
// dictionary (word_dictionary.h). A word of the vocabulary is one piece; any other is split as BERT
// does (wordpiece_tokenizer.h), which makes a piece of each Chinese character. With `characters`
// every text is split as BERT does, and the dictionary only says which characters form a word, for
// whole-word masking. Equal to transformers' RoFormerTokenizer over jieba.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/tokenizer.h"
#include "text/word_dictionary.h"

namespace roformer {

// The two files of a published model, and the options of its tokenizer.
struct WordFiles {
  std::string vocabulary;  // BERT's vocab.txt
  std::string vocabulary_location;
  std::string dictionary;  // jieba's dict.txt
  std::string dictionary_location;
  bool cased = false;
  bool characters = false;
};

// Joins everything into the contents of one model file (JSON). Throws Error naming file:line.
std::string word_model(const WordFiles& files);

// True if the contents say that they are such a model file.
bool is_word_model(std::string_view contents);

// Throws Error naming the location if a field is missing or wrong.
std::unique_ptr<Tokenizer> make_word_tokenizer(std::string contents, const std::string& location);

// The vocabulary and the dictionary of a tokenizer of kind `words`, for folders of other programs.
WordFiles word_files(const Tokenizer& tokenizer);

// Counts the words of a corpus and writes the vocabulary of a word tokenizer.
class WordCounter {
 public:
  // `cased` has the same meaning as for WordPiece. The dictionary must outlive the counter.
  WordCounter(const WordDictionary& dictionary, bool cased)
      : dictionary_(dictionary), cased_(cased) {}

  void add(std::string_view text);
  // The contents of a vocab.txt of at most `size` entries: the special tokens, then words and
  // characters by frequency, equally frequent ones by their bytes. A character also counts inside
  // words, and as a continuation inside words of letters. With `characters`, words of several
  // Chinese characters are left out. Throws Error if there is no text.
  std::string vocabulary(std::int64_t size, bool characters = false) const;

 private:
  const WordDictionary& dictionary_;
  bool cased_;
  std::unordered_map<std::string, std::uint64_t> words_;
};

}  // namespace roformer
