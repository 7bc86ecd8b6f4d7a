// Trains SentencePiece models with Google's library on one thread, so that the same sentences give
// the same model. Also samples the training sentences from a corpus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace roformer {

// A uniform sample of a corpus' lines, of limited size, so that a tokenizer can be trained on files
// larger than memory. The same lines and seed give the same sample.
class SentenceSample {
 public:
  // Keeps at most `limit` sentences; 0 keeps all.
  SentenceSample(std::uint64_t limit, std::uint64_t seed) : limit_(limit), random_(seed) {}

  // Adds a line. Lines of more than kLongestSentence bytes are cut at spaces, because the
  // SentencePiece trainer leaves longer ones out; blank ones are not counted.
  void add(std::string_view line);
  const std::vector<std::string>& sentences() const { return sentences_; }
  std::uint64_t seen() const { return seen_; }

  static constexpr std::size_t kLongestSentence = 4000;

 private:
  std::uint64_t limit_;
  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<std::string> sentences_;

  void add_sentence(std::string_view sentence);
};

enum class SentencePieceAlgorithm { unigram, bpe };

struct SentencePieceTraining {
  SentencePieceAlgorithm algorithm = SentencePieceAlgorithm::unigram;
  std::int64_t pieces = 4096;              // size of the vocabulary, special tokens included
  double character_coverage = 0.9995;      // share of the characters that get a piece
  std::string normalization = "nmt_nfkc";  // nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity
  bool byte_fallback = false;              // write rare characters as bytes instead of [UNK]
};

// Returns the contents of the model file. The special tokens are control symbols with ids 0 to 4,
// which encoding never produces: [PAD], [UNK], [CLS], [SEP], [MASK]. Throws Error if there are too
// few sentences for the number of pieces, or too few pieces for the characters.
std::string train_sentencepiece(const std::vector<std::string>& sentences,
                                const SentencePieceTraining& training);

}  // namespace roformer
