// dataset.json of a prepared parallel corpus: what it is, where it comes from, what the rules
// removed, and what its files must contain.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/pair_rules.h"
#include "data/pair_source.h"
#include "data/shard.h"
#include "data/split.h"
#include "text/tokenizer.h"

namespace roformer {

enum class Side { source, target };
inline constexpr std::array kSides = {Side::source, Side::target};
std::string_view to_string(Side side);

struct ParallelDescription {
  struct TokenizerFacts {
    std::uint64_t fingerprint = 0;
    std::string description;
    std::int64_t vocabulary_size = 0;
  };
  // One language of one split.
  struct OfSide {
    std::uint64_t tokens = 0;  // the token that ends each sentence included
    std::uint64_t unknown = 0;
    std::uint64_t words = 0;  // apart by white space
    std::uint64_t characters = 0;
    std::uint64_t longest = 0;                   // tokens of the longest sentence
    std::vector<std::uint64_t> shard_checksums;  // one a shard, in order
    std::uint64_t text_checksum = 0;             // XXH3 of the text file; train has none
  };
  struct OfSplit {
    std::uint64_t sentences = 0;
    std::array<OfSide, 2> sides;  // by Side

    OfSide& operator[](Side side) { return sides[static_cast<std::size_t>(side)]; }
    const OfSide& operator[](Side side) const { return sides[static_cast<std::size_t>(side)]; }
  };
  // What was read from one place.
  struct Origin {
    std::string files;
    Split split = Split::train;  // that of all its pairs, unless drawn from train
    double weight = 1;
    PairCounts counts;
  };

  std::string name;
  std::string source;  // where the text comes from, in words
  std::string licence;
  std::string command;
  PairLanguages languages;
  std::uint64_t fingerprint = 0;  // XXH3 of the pairs that were kept, and of their splits
  // XXH3 of the pairs that were read, however they are divided; nothing in older sets.
  std::optional<std::uint64_t> text_fingerprint;
  bool joint_vocabulary = true;
  std::array<TokenizerFacts, 2> tokenizers;  // by Side
  double validation_fraction = 0;            // of the pages of train
  double test_fraction = 0;
  std::uint64_t seed = 0;
  PairRules rules;
  std::vector<Origin> origins;
  std::array<OfSplit, 3> splits;  // by Split

  OfSplit& operator[](Split split) { return splits[static_cast<std::size_t>(split)]; }
  const OfSplit& operator[](Split split) const { return splits[static_cast<std::size_t>(split)]; }
};

// "train-source-00000.bin" and "test.target.txt".
std::string parallel_shard_name(Split split, Side side, std::size_t number);
std::string parallel_text_name(Split split, Side side);

// True when the folder says that it is a prepared parallel corpus.
bool is_parallel_dataset(const std::filesystem::path& folder);

void write_description(const ParallelDescription& description, const std::filesystem::path& folder);
// Every field is checked; throws Error (failure) naming the file.
ParallelDescription read_parallel_description(const std::filesystem::path& folder);

// A prepared parallel corpus: paired shards of both languages, mapped into memory, the tokenizers
// that made them, and the text of the validation and test sets. Sentence i of a split has a source
// and a target, each ending with its vocabulary's end of a sentence.

class ParallelDataset {
 public:
  // Opening reads headers only. Throws Error (failure) naming the file that is missing, damaged or
  // does not belong.
  explicit ParallelDataset(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ParallelDescription& description() const { return description_; }
  // The same object for both sides of a joint vocabulary.
  const Tokenizer& tokenizer(Side side) const;

  std::int64_t sentences(Split split) const;
  // Throws Error (usage) where the set is empty.
  void require_sentences(Split split) const;
  // Tokens of sentence 0 <= i < sentences(), its end included: at least 1.
  std::int64_t length(Split split, Side side, std::int64_t i) const;
  std::vector<std::int32_t> lengths(Split split, Side side) const;
  // Safe to call from several threads. Throws Error where a damaged file holds another token than
  // the vocabulary's.
  std::vector<TokenId> sentence(Split split, Side side, std::int64_t i) const;

  // The text of a validation or test set, a line a sentence; of the target the references that a
  // score is taken against. Throws Error where the file is not the one that was prepared.
  std::vector<std::string> text(Split split, Side side) const;

  std::size_t shards(Split split) const;  // a side
  // Reads every shard and text whole and compares checksums; throws Error naming the first that is
  // damaged.
  void verify_checksums() const;

 private:
  struct OfSplit {
    std::array<std::vector<Shard>, 2> shards;  // by Side, equally many
    std::vector<std::int64_t> starts;          // first sentence of each shard, and the end
  };
  struct Location {
    std::size_t shard = 0;
    std::size_t document = 0;
  };

  std::filesystem::path folder_;
  ParallelDescription description_;
  std::array<std::shared_ptr<const Tokenizer>, 2> tokenizers_;  // by Side
  std::array<OfSplit, 3> splits_;                               // by Split

  const OfSplit& of(Split split) const { return splits_[static_cast<std::size_t>(split)]; }
  Location locate(Split split, std::int64_t i) const;
  void open_split(Split split);
};

// The tokens around a sentence that a translator reads and writes.

struct SentenceTokens {
  TokenId begin = -1;  // what a decoder starts from
  TokenId end = -1;    // the last token of a source and of a target
};

// Begin is [CLS] (<s>) where the vocabulary has it, else the padding, as Marian's, else the end, as
// fairseq's; end is [SEP] (</s>). Throws Error (usage) for a vocabulary without an end.
SentenceTokens sentence_tokens(const Tokenizer& tokenizer);

}  // namespace roformer
