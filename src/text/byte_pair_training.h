// Learns the pieces of a vocabulary by byte-pair encoding (Sennrich et al. 2016): the most frequent
// pair of neighbouring pieces becomes a piece, again and again. Chooses as the trainers of Hugging
// Face's tokenizers do, WordPiece's included: of equally frequent pairs the one with the lower ids.
// Only the ids of single characters inside a word ("##a") are a matter of chance there; here they
// follow the characters' order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/word_counts.h"

namespace roformer {

struct BytePairTraining {
  std::int64_t pieces = 0;                // of the vocabulary, special tokens included
  std::uint64_t min_frequency = 2;        // of a pair that becomes a piece
  std::size_t most_characters = 0;        // that get a piece; the rarest get none; 0: all do
  std::vector<std::string> special;       // the first pieces
  std::string continuation = {};          // marks a piece that continues a word; may be empty
  std::vector<char32_t> characters = {};  // that get a piece whether a text has them or not
  // Called now and then with the number of pieces so far.
  std::function<void(std::uint64_t)> progress;
};

struct TrainedPieces {
  struct Merge {
    TokenId left = 0, right = 0;
  };
  std::vector<std::string> pieces;  // by id
  std::vector<Merge> merges;        // in the order of their application
};

// Words are valid UTF-8. Gives fewer pieces than wanted where no further pair is frequent enough.
// Throws Error (failure) if the characters and special tokens alone are more pieces than wanted.
TrainedPieces train_byte_pairs(const WordCounts& words, const BytePairTraining& training);

}  // namespace roformer
