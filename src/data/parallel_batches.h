// Which sentence pairs a batch holds. The pairs are sorted by (source, target) length and cut into
// strata of neighbours, as many in a stratum as there are rounds; each epoch deals every stratum
// anew, one pair to a round. A round so holds every length, and its batches, cut at the same
// strata, hold pairs of similar length, met by others in every epoch. The longest pair of a stratum
// counts for all of it: no batch exceeds its budget in any epoch, the number of batches never
// changes, and a batch is found by its number alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/parallel_dataset.h"

namespace roformer {

struct PairLength {
  std::int32_t source = 0;  // tokens, at least 1
  std::int32_t target = 0;
};

struct DealingOptions {
  std::int64_t tokens = 4096;  // of a batch, at most so many on each side
  std::int64_t sentences = 0;  // of a batch at most; 0: any number
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: from short to long, the same every epoch
};

class PairDealing {
 public:
  // A pair that is longer than options.tokens makes a batch of its own.
  PairDealing(std::vector<PairLength> lengths, DealingOptions options);

  // 0 without pairs.
  std::int64_t batches_per_epoch() const { return rounds_ * batches_per_round(); }
  // The pairs of batch n >= 0, counted through the epochs, sorted by length. Every epoch has each
  // pair once. Never empty. Safe to call from several threads.
  std::vector<std::int64_t> operator[](std::int64_t n) const;

 private:
  std::vector<PairLength> lengths_;
  DealingOptions options_;
  std::vector<std::int32_t> sorted_;  // pair numbers by (source, target) length
  std::int64_t rounds_ = 1;
  std::vector<std::int64_t> cuts_;  // strata where the batches of a round begin, and the end

  std::int64_t strata() const;
  std::int64_t batches_per_round() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  // First and one past the last index of a stratum in sorted_.
  std::pair<std::int64_t, std::int64_t> range(std::int64_t stratum) const;
  void cut(std::int64_t rounds);
};

// Batches of sentence pairs for a translator: unpadded, of at most so many tokens a side, pairs of
// similar length together. A batch is a pure function of its number.

// B pairs, sources and targets each end to end, sorted by (source, target) length, so that equal
// lengths are neighbours.
struct ParallelBatch {
  std::vector<std::int64_t> sentences;      // [B] numbers in the split
  std::vector<std::int64_t> source_ids;     // [S] each sentence ends with the end token
  std::vector<std::int64_t> source_starts;  // [B + 1] where sources begin, and the end
  std::vector<std::int64_t> target_ids;     // [T] the begin token, then the target without its end
  std::vector<std::int64_t> labels;         // [T] the target with its end: what follows target_ids
  std::vector<std::int64_t> target_starts;  // [B + 1] where targets begin, and the end

  std::int64_t size() const { return static_cast<std::int64_t>(sentences.size()); }
};

struct ParallelBatchOptions {
  std::int64_t tokens = 4096;       // of a batch, at most so many on each side
  std::int64_t sentences = 0;       // of a batch at most; 0: any number
  std::int64_t longest_source = 0;  // tokens; longer pairs are left out; 0: none
  std::int64_t longest_target = 0;
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: from short to long, the same every epoch
};

class ParallelBatches {
 public:
  // Throws Error (failure) when no pair of the split is left. The data set must outlive it.
  ParallelBatches(const ParallelDataset& dataset, Split split, const ParallelBatchOptions& options);

  std::int64_t batches_per_epoch() const { return dealing_.batches_per_epoch(); }
  // Batch n >= 0, counted through the epochs; every epoch has each pair once. Safe to call from
  // several threads.
  ParallelBatch operator[](std::int64_t n) const;

  std::int64_t pairs() const { return static_cast<std::int64_t>(kept_.size()); }
  std::int64_t left_out() const { return left_out_; }  // for being too long

 private:
  struct Selection;

  const ParallelDataset& dataset_;
  Split split_;
  SentenceTokens target_tokens_;
  std::vector<std::int32_t> kept_;  // sentence numbers
  std::int64_t left_out_ = 0;
  PairDealing dealing_;

  ParallelBatches(const ParallelDataset& dataset, Split split, const ParallelBatchOptions& options,
                  Selection selection);
};

// The batch of these sentences of a split, in this order.
ParallelBatch make_parallel_batch(const ParallelDataset& dataset, Split split,
                                  const std::vector<std::int64_t>& sentences);

}  // namespace roformer
