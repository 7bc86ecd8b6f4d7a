// Training of SentencePiece models with Google's library, on one thread, so that the same sentences
// give the same model. The special tokens are control symbols with ids 0 to 4, which encoding never
// produces: [PAD], [UNK], [CLS], [SEP], [MASK].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roformer {

enum class SentencePieceAlgorithm { unigram, bpe };

struct SentencePieceTraining {
  SentencePieceAlgorithm algorithm = SentencePieceAlgorithm::unigram;
  std::int64_t pieces = 4096;              // size of the vocabulary, special tokens included
  double character_coverage = 0.9995;      // share of the characters that get a piece
  std::string normalization = "nmt_nfkc";  // nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity
  bool byte_fallback = false;              // write rare characters as bytes instead of [UNK]
};

// Returns the contents of the model file. Throws Error when the sentences do not suffice for the
// number of pieces, or the pieces not for the characters.
std::string train_sentencepiece(const std::vector<std::string>& sentences,
                                const SentencePieceTraining& training);

}  // namespace roformer
