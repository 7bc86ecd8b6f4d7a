// Receives sentence pairs, tokenises them on several threads and writes them into paired shards:
// document i of a split's source shards is the translation of document i of its target shards. Each
// document ends with the vocabulary's end-of-sentence token, so that an empty line of a test set is
// a document, too. The text of validation and test sets goes into files, because scores compare
// with it. Training pairs in finished shards of an earlier process are only counted and hashed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/parallel_dataset.h"
#include "data/preparation.h"
#include "data/sentence_pairs.h"
#include "data/shard.h"
#include "text/tokenizer.h"

namespace roformer {

// The contents of the finished shards of the training set. Validation and test sets are small and
// are written again.
struct FinishedPairs {
  // The shards hold this many of the first training pairs that passed the rules about text, minus
  // the pairs that the rules about pieces removed.
  std::uint64_t pairs = 0;
  std::uint64_t text = 0;                    // hash of so many pairs
  ParallelDescription::OfSplit so_far = {};  // the training set
  // The numbers of the removed pairs, ascending, each with its rule.
  std::vector<std::pair<std::uint64_t, PairRule>> removed = {};
};

nlohmann::ordered_json to_json(const FinishedPairs& finished);
std::vector<FinishedShard> read_finished(const JsonFields& state, FinishedPairs& finished);

class PairWriter {
 public:
  struct Options {
    std::filesystem::path folder;
    std::int64_t threads = 1;
    std::uint64_t shard_tokens = 0;  // shards end with the pair that has so many on one side
    PairRules rules;                 // the rules about pieces
    FinishedPairs finished = {};     // shards that are in the folder already
    // Called whenever another shard of the training set is finished and synced, on both sides.
    std::function<void(const FinishedPairs&)> on_finished = {};
  };
  struct Entry {
    std::string source;  // clean (see clean_sentence), as the target
    std::string target;
    std::optional<std::string> reference;  // the target as a person wrote it; none: the target
    Split split = Split::train;
    std::int64_t copies = 1;  // in a training set; 0 is counted as kept and not written
    bool under_rules = true;  // false: a test set, of which nothing may be left out
    std::size_t origin = 0;   // index of its counts
  };

  PairWriter(Options options, const Tokenizer& source, const Tokenizer& target);
  ~PairWriter();

  void add(Entry entry);
  // Completes shards and texts. Adds the counts of pairs that the rules about pieces removed, and
  // `kept`, to the counts of the origins. Throws CorpusChanged, as add() does, if the pairs differ
  // from those of the finished shards.
  BySplit<ParallelDescription::OfSplit> finish(std::vector<ParallelDescription::Origin>& origins);
  // Hash of the kept pairs and their splits. Call it after finish().
  std::uint64_t fingerprint() const { return hash_.digest(); }
  // Hash of all added pairs without their splits: it is the same for every division of them.
  std::uint64_t text_fingerprint() const { return text_hash_.digest(); }

 private:
  struct Block;
  // The files that are being written for one side of a split.
  struct Output {
    std::unique_ptr<ShardWriter> shard;
    std::unique_ptr<AtomicFile> text;
    RunningHash text_hash;
  };

  Options options_;
  BySide<const Tokenizer*> tokenizers_;
  BySide<TokenId> ends_;
  std::vector<Block> blocks_;  // gathered pairs, tokenised together
  std::vector<PairCounts> counts_;
  RunningHash hash_;       // of the pairs that were kept
  RunningHash read_hash_;  // of those before the rules about pieces
  RunningHash text_hash_;  // of the same without their splits
  std::uint64_t added_ = 0;
  std::uint64_t written_ = 0;  // or removed
  // The same values as in FinishedPairs.
  std::vector<std::pair<std::uint64_t, PairRule>> removed_;
  BySplit<ParallelDescription::OfSplit> splits_;
  BySplit<BySide<Output>> outputs_;

  // Whether an earlier process wrote the pair into a finished shard or removed it.
  bool is_finished(std::uint64_t number, const Entry& entry) const;
  std::optional<PairRule> removed_before(std::uint64_t number) const;
  void encode(Block& block) const;
  void write_blocks();
  void write_entry(std::uint64_t number, const Entry& entry,
                   const BySide<std::vector<TokenId>>& ids);
  bool write_pair(const Entry& entry, const BySide<std::vector<TokenId>>& ids);
  void finish_shards(Split split);
};

}  // namespace roformer
