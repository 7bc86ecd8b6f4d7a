// Batches of sentence pairs for a translator: unpadded, of at most so many tokens a side, pairs of
// similar length together. A batch is a pure function of its number.
#pragma once

#include <cstdint>
#include <vector>

#include "data/pair_dealing.h"
#include "data/parallel_dataset.h"
#include "data/sentence_tokens.h"

namespace roformer {

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
