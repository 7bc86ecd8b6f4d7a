// Vocabularies for a parallel corpus: SentencePiece, joint for both languages or one for each, from
// the pairs of the training set that pass the rules.
#pragma once

#include <cstdint>
#include <memory>

#include "data/prepare_pairs.h"
#include "text/sentencepiece_training.h"
#include "text/tokenizer.h"

namespace roformer {

struct PairVocabulary {
  // Every character of the training set gets a piece, since a translator cannot write one that is
  // unknown; scripts of thousands of characters want less.
  SentencePieceTraining training{
      .algorithm = SentencePieceAlgorithm::bpe, .pieces = 8000, .character_coverage = 1.0};
  bool joint = true;
  std::uint64_t sample = 1'000'000;  // sentences of a model kept in memory, drawn evenly; 0: all
};

struct PairTokenizers {
  std::shared_ptr<const Tokenizer> source;
  std::shared_ptr<const Tokenizer> target;  // the same object where joint
};

// Reads the training pairs once. Throws Error as train_sentencepiece and prepare_pairs.
PairTokenizers train_pair_vocabulary(const ParallelCorpus& corpus,
                                     const PairVocabulary& vocabulary);

}  // namespace roformer
