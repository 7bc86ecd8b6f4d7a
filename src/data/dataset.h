// A prepared data set: a folder with the shards of its splits, the tokenizer that made them, and
// dataset.json, which describes the set and its origin.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/shard.h"
#include "data/split.h"
#include "text/tokenizer.h"

namespace roformer {

struct SplitCounts {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  std::uint64_t characters = 0;  // code points of the text given to the tokenizer
  std::uint64_t bytes = 0;       // UTF-8 bytes of the same text
  std::uint64_t unknown = 0;     // of the tokens, the unknown piece

  SplitCounts& operator+=(const SplitCounts& other);
};

// The contents of dataset.json.
struct DatasetDescription {
  std::string name;
  std::string source;             // origin of the text, in words
  std::string licence;            // empty: not known
  std::string command;            // that prepared it
  std::uint64_t fingerprint = 0;  // XXH3 of the text and its document boundaries
  std::uint64_t tokenizer_fingerprint = 0;
  std::string tokenizer;  // description
  std::int64_t vocabulary_size = 0;
  double validation_fraction = 0;
  double test_fraction = 0;
  std::uint64_t seed = 0;
  std::uint64_t files = 0;              // read; 0: not known
  std::uint64_t files_skipped = 0;      // by their names, or because they are no text
  std::uint64_t repeats_removed = 0;    // lines
  std::uint64_t invalid_sequences = 0;  // malformed UTF-8, replaced by U+FFFD
  struct OfSplit {
    SplitCounts counts;
    std::vector<std::uint64_t> shard_checksums;  // one a shard, in order
  };
  BySplit<OfSplit> splits;  // the test set may be empty
  // If only a prefix of the file existed: the bytes of the prefix and of the whole file.
  struct Prefix {
    std::uint64_t bytes = 0;
    std::uint64_t of = 0;
  };
  std::optional<Prefix> prefix = {};
  // Whether an earlier version made the set. It counted line ends as characters even if the
  // tokenizer did not see them.
  bool counts_line_ends = false;

  OfSplit& operator[](Split split) { return splits[split]; }
  const OfSplit& operator[](Split split) const { return splits[split]; }
};

// "enwik8", or "enwik8, the first 4,154,399 of 100,000,000 bytes".
std::string shown_name(const DatasetDescription& description);

// "train-00000.bin"
std::string shard_name(Split split, std::size_t number);

void write_description(const DatasetDescription& description, const std::filesystem::path& folder);
bool holds_description(const std::filesystem::path& folder);  // that there is one
// The contents of dataset.json, unchecked. Throws Error (failure) if there is none; the hint says
// how to prepare it from `source` ("FILES").
nlohmann::json read_dataset_json(const std::filesystem::path& folder, const char* source);
// Every field is checked; throws Error (failure) naming the file.
DatasetDescription read_description(const std::filesystem::path& folder);

// An open data set. Opening reads only headers, so its time does not depend on the size.
class Dataset {
 public:
  // Throws Error (failure) naming a file that is missing, damaged or belongs to another set.
  explicit Dataset(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const DatasetDescription& description() const { return description_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const std::vector<Shard>& shards(Split split) const { return shards_[split]; }
  // Throws Error (usage) with a remedy if the set has no such split.
  void require(Split split) const;
  // Reads every shard completely and compares checksums. Throws Error naming the first damaged one.
  void verify_checksums() const;

 private:
  std::filesystem::path folder_;
  DatasetDescription description_;
  std::unique_ptr<Tokenizer> tokenizer_;
  BySplit<std::vector<Shard>> shards_;
};

}  // namespace roformer
