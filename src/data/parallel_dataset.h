// dataset.json of a prepared parallel corpus: what the corpus is, where it comes from, which pairs
// the rules removed, and what its files must contain.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sentence_pairs.h"
#include "data/shard.h"
#include "data/split.h"
#include "text/tokenizer.h"

namespace roformer {

enum class Side { source, target };
inline constexpr std::array kSides = {Side::source, Side::target};
std::string_view to_string(Side side);
template <class Value>
using BySide = ByKey<Side, Value, kSides.size()>;

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
    BySide<OfSide> sides;

    OfSide& operator[](Side side) { return sides[side]; }
    const OfSide& operator[](Side side) const { return sides[side]; }
  };
  // One source of pairs.
  struct Origin {
    std::string files;
    Split split = Split::train;  // that of all its pairs, unless drawn from train
    double weight = 1;
    PairCounts counts;
  };

  std::string name;
  std::string source;  // origin of the text, in words
  std::string licence;
  std::string command;
  PairLanguages languages;
  std::uint64_t fingerprint = 0;  // XXH3 of the pairs that were kept, and of their splits
  // XXH3 of the pairs that were read, independent of their division; empty in older sets.
  std::optional<std::uint64_t> text_fingerprint;
  bool joint_vocabulary = true;
  BySide<TokenizerFacts> tokenizers;
  double validation_fraction = 0;  // of the pages of train
  double test_fraction = 0;
  std::uint64_t seed = 0;
  PairRules rules;
  std::vector<Origin> origins;
  BySplit<OfSplit> splits;

  OfSplit& operator[](Split split) { return splits[split]; }
  const OfSplit& operator[](Split split) const { return splits[split]; }
};

// "train-source-00000.bin" and "test.target.txt".
std::string parallel_shard_name(Split split, Side side, std::size_t number);
std::string parallel_text_name(Split split, Side side);

// True if the folder says that it is a prepared parallel corpus.
bool is_parallel_dataset(const std::filesystem::path& folder);

void write_description(const ParallelDescription& description, const std::filesystem::path& folder);
// Every field is checked; throws Error (failure) naming the file.
ParallelDescription read_parallel_description(const std::filesystem::path& folder);

// A prepared parallel corpus: paired shards of both languages, mapped into memory, the tokenizers
// that made them, and the text of the validation and test sets. Sentence i of a split has a source
// and a target, each ending with its vocabulary's end of a sentence.
class ParallelDataset {
 public:
  // Opening reads only headers. Throws Error (failure) naming a file that is missing, damaged or
  // belongs to another set.
  explicit ParallelDataset(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ParallelDescription& description() const { return description_; }
  // Both functions return the same object if the vocabulary is joint.
  const Tokenizer& tokenizer(Side side) const { return *tokenizers_[side]; }

  std::int64_t sentences(Split split) const;
  // Throws Error (usage) if the set is empty.
  void require_sentences(Split split) const;
  // Tokens of sentence 0 <= i < sentences(), the end included: at least 1.
  std::int64_t length(Split split, Side side, std::int64_t i) const;
  std::vector<std::int32_t> lengths(Split split, Side side) const;
  // Safe to call from several threads. Throws Error if a damaged file holds a token outside the
  // vocabulary.
  std::vector<TokenId> sentence(Split split, Side side, std::int64_t i) const;

  // The text of a validation or test set, one sentence per line. On the target side these are the
  // references for scores. Throws Error if the file differs from the prepared one.
  std::vector<std::string> text(Split split, Side side) const;

  std::size_t shards(Split split) const;  // a side
  // Reads every shard and text completely and compares checksums. Throws Error naming the first
  // damaged file.
  void verify_checksums() const;

 private:
  struct OfSplit {
    BySide<std::vector<Shard>> shards;  // equally many
    std::vector<std::int64_t> starts;   // first sentence of each shard, and the end
  };
  struct Location {
    std::size_t shard = 0;
    std::size_t document = 0;
  };

  std::filesystem::path folder_;
  ParallelDescription description_;
  BySide<std::shared_ptr<const Tokenizer>> tokenizers_;
  BySplit<OfSplit> splits_;

  Location locate(Split split, std::int64_t i) const;
  void open_split(Split split);
};

// The tokens that begin and end the sentences of a translator.
struct SentenceTokens {
  TokenId begin = -1;  // the first token of a decoder
  TokenId end = -1;    // the last token of a source and of a target
};

// Begin is [CLS] (<s>) if the vocabulary has it, else the padding token (as in Marian), else the
// end token (as in fairseq). End is [SEP] (</s>). Throws Error (usage) for a vocabulary without an
// end token.
SentenceTokens sentence_tokens(const Tokenizer& tokenizer);

}  // namespace roformer
