// Trains the vocabularies of WordPiece and of byte-level BPE. The pieces are those that Hugging
// Face's tokenizers learn from the same lines (byte_pair_training.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/bert_normalization.h"
#include "text/split_pattern.h"
#include "text/tokenizer.h"
#include "text/word_counts.h"

namespace roformer {

struct VocabularyTraining {
  std::int64_t pieces = 30'000;         // at most, special tokens included
  std::uint64_t min_frequency = 2;      // of a pair of pieces that becomes one
  std::size_t most_characters = 1'000;  // WordPiece: that get a piece; 0: all
  std::vector<std::string> special;     // tokens in addition to [PAD] [UNK] [CLS] [SEP] [MASK]
  std::function<void(std::uint64_t)> progress;  // called with the number of pieces so far
};

// The words of the lines, cut as BERT does.
class WordPieceTrainer {
 public:
  // `cased`: keeps upper case and accents.
  explicit WordPieceTrainer(bool cased);
  void add(std::string_view line);
  const WordCounts& words() const { return words_; }
  // Throws Error (failure) for too few pieces and for no text.
  std::unique_ptr<Tokenizer> train(const VocabularyTraining& training) const;

 private:
  const BertNormalization& normalization_;
  bool cased_;
  WordCounts words_;
};

// The words of the lines, cut as GPT-2 does, in bytes. The line's end is part of a line.
class ByteLevelTrainer {
 public:
  ByteLevelTrainer();
  void add(std::string_view line);
  const WordCounts& words() const { return words_; }
  // Throws Error (failure) for too few pieces and for no text.
  std::unique_ptr<Tokenizer> train(const VocabularyTraining& training) const;

 private:
  SplitPattern pattern_;
  WordCounts words_;
};

}  // namespace roformer
