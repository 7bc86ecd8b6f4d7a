// dataset.json of a prepared parallel corpus: what it is, where it comes from, what the rules
// removed, and what its files must contain.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/pair_rules.h"
#include "data/pair_source.h"
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

}  // namespace roformer
