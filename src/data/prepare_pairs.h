// Prepares sentence pairs: reads every source once, applies the rules, tokenises on several threads
// and writes paired shards. The result depends neither on the number of threads nor on whether an
// earlier process was killed (see preparation.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/parallel_dataset.h"
#include "data/sentence_pairs.h"
#include "text/sentencepiece_training.h"
#include "text/tokenizer.h"

namespace roformer {

// A validation or test set. Rules remove none of its pairs, so that scores compare.
struct HeldOutPairs {
  PairSource pairs;
  // If `pairs` are tokenised: the translations as people wrote them, one line per pair.
  std::filesystem::path reference;
};

// A parallel corpus and how it is read.
struct ParallelCorpus {
  PairLanguages languages;
  std::vector<PairSource> train;
  std::optional<HeldOutPairs> validation;
  std::optional<HeldOutPairs> test;
  // Shares of the pages of the training set, in [0, 1), for sets without separate files.
  double validation_fraction = 0;
  double test_fraction = 0;
  std::uint64_t seed = 1;  // of that choice, and of weights that are no whole numbers
  PairRules rules;

  // The sets that have separate files.
  std::vector<std::pair<Split, const HeldOutPairs*>> held_out() const;
  std::vector<const PairSource*> sources() const;  // of all sets
  // Sets these fields to true in every source if they are true here.
  void set_reading(bool follow_links, bool skip_broken);
};

struct PreparePairsOptions {
  ParallelCorpus corpus;
  std::filesystem::path output;
  bool overwrite = false;  // replace a data set that is there
  std::int64_t threads = 1;
  std::uint64_t shard_tokens = std::uint64_t{1} << 27;
  // The information for dataset.json about the corpus.
  std::string name;
  std::string source;
  std::string licence;
  std::string command;
};

// Throws the same errors as prepare_pairs for a missing file or an existing output. Training a
// vocabulary takes long, so commands call this function first.
void require_preparable(const PreparePairsOptions& options);

// Throws Error if a file is missing or does not match its other half, the output exists, a split
// stays empty or the disk is full. Then no file is left. Equal tokenizers are stored once.
ParallelDescription prepare_pairs(const PreparePairsOptions& options, const Tokenizer& source,
                                  const Tokenizer& target);

// Calls take(source, target) with the clean texts of each training pair that passes the rules about
// text, once per pair whatever its weight. Vocabularies are trained on these texts.
void for_each_training_pair(
    const ParallelCorpus& corpus,
    const std::function<void(const std::string& source, const std::string& target)>& take);

// How to train SentencePiece on the training pairs: one joint model or one model per language.
struct PairVocabulary {
  // Every character of the training set gets a piece, since a translator cannot write unknown ones.
  // Scripts with thousands of characters need a smaller coverage.
  SentencePieceTraining training{
      .algorithm = SentencePieceAlgorithm::bpe, .pieces = 8000, .character_coverage = 1.0};
  bool joint = true;
  std::uint64_t sample = 1'000'000;  // sentences of a model kept in memory, drawn evenly; 0: all
};

struct PairTokenizers {
  std::shared_ptr<const Tokenizer> source;
  std::shared_ptr<const Tokenizer> target;  // the same object where joint
};

// Reads the training pairs once. Throws Error as train_sentencepiece and prepare_pairs do.
PairTokenizers train_pair_vocabulary(const ParallelCorpus& corpus,
                                     const PairVocabulary& vocabulary);

}  // namespace roformer
