// How far the training set of a parallel corpus in the making is: what its finished shards hold.
// Validation and test sets are small and begin anew.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/pair_rules.h"
#include "data/parallel_dataset.h"
#include "data/preparation_journal.h"
#include "text/tokenizer.h"

namespace roformer {

struct FinishedPairs {
  // The training pairs among the first so many that passed the rules about text are in the shards,
  // or were removed by those about pieces.
  std::uint64_t pairs = 0;
  std::uint64_t text = 0;                    // hash of so many pairs
  ParallelDescription::OfSplit so_far = {};  // the training set
  // Numbers of the removed ones, ascending, each with its rule.
  std::vector<std::pair<std::uint64_t, PairRule>> removed = {};
};

nlohmann::ordered_json to_json(const FinishedPairs& finished);
// What the journal says; nothing finished where there is nothing to go on with.
FinishedPairs recover_pairs(const PreparationJournal& journal);

// Receives sentence pairs, tokenises them on several threads and writes them into paired shards:
// document i of a split's source shards is the translation of document i of its target shards, and
// each ends with the vocabulary's end of a sentence, so that an empty line of a test set is a
// document, too. The text of validation and test goes into files, for scores against the true text.
// Training pairs that are in finished shards of an earlier process are only counted and hashed.

class PairWriter {
 public:
  struct Options {
    std::filesystem::path folder;
    std::int64_t threads = 1;
    std::uint64_t shard_tokens = 0;  // shards end with the pair that has so many on one side
    PairRules rules;                 // those about pieces
    FinishedPairs finished = {};     // shards that are in the folder already
    // Called when one more shard of the training set is finished and synced, on both sides.
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
  // Completes shards and texts. Counts of what the rules about pieces removed are added to those of
  // the origins; `kept` too. Throws CorpusChanged, as add() does, where the pairs are not those of
  // the shards that were finished.
  std::array<ParallelDescription::OfSplit, 3> finish(
      std::vector<ParallelDescription::Origin>& origins);
  // Hash of the pairs that were kept and their splits; after finish().
  std::uint64_t fingerprint() const;
  // Hash of all pairs that were added, whatever their splits: the same for every division of them.
  std::uint64_t text_fingerprint() const;

 private:
  struct Block;
  struct SplitOutput;
  struct FreeHash {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  Options options_;
  std::array<const Tokenizer*, 2> tokenizers_;  // by Side
  std::array<TokenId, 2> ends_;
  std::vector<Block> blocks_;  // gathered pairs, tokenised together
  std::vector<PairCounts> counts_;
  std::unique_ptr<XXH3_state_t, FreeHash> hash_;       // of the pairs that were kept
  std::unique_ptr<XXH3_state_t, FreeHash> read_hash_;  // of those before the rules about pieces
  std::unique_ptr<XXH3_state_t, FreeHash> text_hash_;  // of the same without their splits
  std::uint64_t added_ = 0;
  std::uint64_t written_ = 0;  // or removed
  // As FinishedPairs has them.
  std::vector<std::pair<std::uint64_t, PairRule>> removed_;
  std::array<ParallelDescription::OfSplit, 3> splits_;
  std::array<std::unique_ptr<SplitOutput>, 3> outputs_;  // by Split

  // Whether a pair is in a shard that an earlier process finished, or was removed by it.
  bool is_finished(std::uint64_t number, const Entry& entry) const;
  std::optional<PairRule> removed_before(std::uint64_t number) const;
  void encode(Block& block) const;
  void write(const Block& block);
  void write_blocks();
  void write_entry(std::uint64_t number, const Entry& entry,
                   const std::array<std::vector<TokenId>, 2>& ids);
  bool write_pair(const Entry& entry, const std::array<std::vector<TokenId>, 2>& ids);
  void finish_shards(Split split);
};

}  // namespace roformer
