// Which of several sources a row of training comes from: a function of the row's number alone, so
// that a resumed training and any number of processes draw the same.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "config/data_settings.h"
#include "data/masking.h"
#include "data/rows.h"

namespace roformer {

// The sources take turns in a pattern of 1,024 rows, as evenly as whole rows allow; in each pattern
// a source has its share of the weights, rounded, and one row at least.
class SourceMixture {
 public:
  static constexpr std::int64_t kPattern = 1024;  // rows

  // At least one weight, at most kPattern; all above 0.
  explicit SourceMixture(const std::vector<double>& weights);

  struct Entry {
    std::size_t source = 0;
    std::int64_t number = 0;  // of the row among those that come from the source
  };
  Entry operator[](std::int64_t n) const;

  // Rows of a pattern that come from the source.
  std::int64_t share(std::size_t source) const { return shares_[source]; }

 private:
  std::vector<std::int64_t> shares_;
  std::vector<Entry> pattern_;
};

// Batches of filled rows for masked and causal language models. A batch is a pure function of its
// number: training walks through shuffled epochs without end, validation through the rows in order
// with the same masks in every run.

// B rows of L ids end to end, all of them real tokens.
struct TokenBatch {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::vector<std::int64_t> ids;  // [B * L]
  // Where sequences that do not see each other begin, and the end: [sequences + 1]. Rows, or with
  // cross_documents false the pieces of documents inside them; positions count from there.
  std::vector<std::int64_t> sequence_starts;

  std::int64_t tokens() const { return rows * length; }
};

// The loss is taken at `target_positions` (rising, into ids) with these labels.
struct MaskedBatch : TokenBatch {
  std::vector<std::int64_t> target_positions;  // [masked]; may be empty in a very small batch
  std::vector<std::int64_t> labels;            // [masked]: the ids before masking
};

// The token after each one; kNoTarget where the next one belongs to another sequence.
struct CausalBatch : TokenBatch {
  static constexpr std::int64_t kNoTarget = -100;  // what cross-entropy ignores by default
  std::vector<std::int64_t> targets;               // [B * L]
  std::int64_t target_count = 0;                   // of those that are not kNoTarget
};

struct BatchOptions {
  std::int64_t rows = 32;
  bool cross_documents = true;
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: rows in order, without end
};

// Which rows a batch has. Epochs follow each other without a gap, so every batch is full and one
// may hold the last rows of one epoch and the first of the next.
class RowOrder {
 public:
  RowOrder(std::int64_t rows, const BatchOptions& options);

  struct Entry {
    std::int64_t epoch = 0;
    std::int64_t row = 0;
  };
  // The n-th row of training, n >= 0.
  Entry operator[](std::int64_t n) const;
  std::int64_t rows() const { return rows_; }

 private:
  std::int64_t rows_;
  std::uint64_t seed_;
  bool shuffle_;
};

// A data set and how often its rows are drawn, as against those of others of the same tokenizer.
struct WeightedDataset {
  const Dataset& dataset;
  double weight = 1;
};

// The rows of one or more data sets in the order of training. Each has epochs of its own; one of
// the whole is as many rows as all have together.
class TrainingRows {
 public:
  // Throws Error (failure) when a split does not fill one row. The data sets must outlive it.
  TrainingRows(const std::vector<WeightedDataset>& sources, Split split, const RowOptions& row,
               const BatchOptions& options);

  struct Drawn {
    const Rows& rows;
    RowOrder::Entry entry;
    std::uint64_t seed = 0;  // of the source
  };
  // The n-th row of training, n >= 0.
  Drawn operator[](std::int64_t n) const;
  double rows_per_epoch() const;
  const Rows& first() const { return sources_.front().rows; }

 private:
  struct Source {
    Rows rows;
    RowOrder order;
    std::uint64_t seed = 0;
  };
  std::vector<Source> sources_;
  SourceMixture mixture_;
};

class MaskedBatches {
 public:
  // Validation is of the first source. Throws as TrainingRows does.
  MaskedBatches(const std::vector<WeightedDataset>& sources, Split split, std::int64_t length,
                const MaskingSettings& masking, BatchOptions options);
  MaskedBatches(const Dataset& dataset, Split split, std::int64_t length,
                const MaskingSettings& masking, BatchOptions options)
      : MaskedBatches(std::vector<WeightedDataset>{{dataset}}, split, length, masking, options) {}

  // Batch n of training (n >= 0), masked anew in each epoch. Safe to call from several threads.
  MaskedBatch training(std::int64_t n) const;
  // Batch n of a pass over the rows in order, 0 <= n < validation_batches(limit); the last one may
  // be smaller. Masks come from a fixed seed, so that two runs are compared on the same targets.
  MaskedBatch validation(std::int64_t n, std::int64_t token_limit = 0) const;
  // `token_limit` > 0: the pass has at most so many tokens, in whole rows spread evenly over the
  // split, but one row at least. A row has the same masks whatever the limit.
  std::int64_t validation_batches(std::int64_t token_limit = 0) const;

  double batches_per_epoch() const;
  const Rows& rows() const { return rows_.first(); }

 private:
  TrainingRows rows_;
  Masker masker_;
  BatchOptions options_;

  void append(Row row, std::uint64_t key, MaskedBatch& batch) const;
};

class CausalBatches {
 public:
  // As MaskedBatches, without masks.
  CausalBatches(const std::vector<WeightedDataset>& sources, Split split, std::int64_t length,
                BatchOptions options);
  CausalBatches(const Dataset& dataset, Split split, std::int64_t length, BatchOptions options)
      : CausalBatches(std::vector<WeightedDataset>{{dataset}}, split, length, options) {}

  CausalBatch training(std::int64_t n) const;
  CausalBatch validation(std::int64_t n, std::int64_t token_limit = 0) const;
  std::int64_t validation_batches(std::int64_t token_limit = 0) const;

  double batches_per_epoch() const;
  const Rows& rows() const { return rows_.first(); }

 private:
  TrainingRows rows_;
  BatchOptions options_;

  void append(const Row& row, CausalBatch& batch) const;
};

}  // namespace roformer
