// A prepared parallel corpus: paired shards of both languages, mapped into memory, the tokenizers
// that made them, and the text of the validation and test sets. Sentence i of a split has a source
// and a target, each ending with its vocabulary's end of a sentence.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/parallel_description.h"
#include "data/shard.h"
#include "text/tokenizer.h"

namespace roformer {

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

}  // namespace roformer
