// From sentence pairs to a prepared parallel corpus: reads every source once, applies the rules,
// tokenises on several threads and writes paired shards. The folder appears under its name only
// when it is complete. The result does not depend on the number of threads, nor on whether a
// process before was killed: its finished shards are kept (see preparation_journal.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/pair_rules.h"
#include "data/pair_source.h"
#include "data/parallel_dataset.h"
#include "text/sentencepiece_training.h"
#include "text/tokenizer.h"

namespace roformer {

// A validation or test set. No rule leaves a pair of it out, so that scores compare.
struct HeldOutPairs {
  PairSource pairs;
  // One line a pair: the translations as people wrote them, where `pairs` are tokenised.
  std::filesystem::path reference;
};

// A parallel corpus and how it is read.
struct ParallelCorpus {
  PairLanguages languages;
  std::vector<PairSource> train;
  std::optional<HeldOutPairs> validation;
  std::optional<HeldOutPairs> test;
  // Without files of their own: shares of the pages of the training set, in [0, 1).
  double validation_fraction = 0;
  double test_fraction = 0;
  std::uint64_t seed = 1;  // of that choice, and of weights that are no whole numbers
  PairRules rules;

  // Of every source.
  void follow_links();
};

// Every source then leaves out lines of JSON Lines that are no objects.
void skip_broken_lines(ParallelCorpus& corpus);

struct PreparePairsOptions {
  ParallelCorpus corpus;
  std::filesystem::path output;
  bool overwrite = false;  // replace a data set that is there
  std::int64_t threads = 1;
  std::uint64_t shard_tokens = std::uint64_t{1} << 27;
  // What dataset.json says about the corpus.
  std::string name;
  std::string source;
  std::string licence;
  std::string command;
};

// Throws what prepare_pairs would for a file that is missing and for an output that is taken,
// before a vocabulary is trained, which may take long.
void require_preparable(const PreparePairsOptions& options);

// Throws Error: a file is missing or does not match its other half, the output exists, a split
// stays empty, the disk is full. Then nothing is left behind. Equal tokenizers are stored once.
ParallelDescription prepare_pairs(const PreparePairsOptions& options, const Tokenizer& source,
                                  const Tokenizer& target);

// Calls take(source, target) with the clean texts of each training pair that passes the rules about
// text, once whatever its weight: what a vocabulary is made from.
void for_each_training_pair(
    const ParallelCorpus& corpus,
    const std::function<void(const std::string& source, const std::string& target)>& take);

// Vocabularies for a parallel corpus: SentencePiece, joint for both languages or one for each, from
// the pairs of the training set that pass the rules.

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
