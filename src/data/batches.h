// Batches for masked and causal language models, from the shards of a prepared text. A batch is a
// pure function of its number: training walks through shuffled epochs without end, validation
// through the rows in order with the same masks in every run. From the bottom up: Rows cuts a split
// into rows, Masker masks a row, SourceMixture and RowOrder choose the row of each number,
// RowBatches makes a batch of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/data_settings.h"
#include "data/dataset.h"
#include "text/tokenizer.h"

namespace roformer {

// Rows: a split cut into pieces of equal length. The documents form one stream, with a separator
// after each, and row i is the i-th piece of that stream, so no position is padding. A row is made
// from the memory map on request; nothing is stored.
struct Row {
  std::vector<TokenId> ids;  // [length]
  std::vector<std::int32_t>
      document_starts;  // positions in the row where a document begins; first 0
};

struct RowOptions {
  std::int64_t length = 128;
  bool begin_with_classification = true;  // the row's first id is [CLS], as BERT's
  // How many ids of the next row each row repeats at its end: 1 for causal models, whose targets
  // are the ids one position ahead. The row then has length + overlap ids.
  std::int64_t overlap = 0;
};

class Rows {
 public:
  // The data set must outlive the rows. Rows have no separator if the vocabulary has none, and
  // begin with text if it has no [CLS].
  Rows(const Dataset& dataset, Split split, RowOptions options);

  // The number of full rows. The incomplete rest of the stream is not used.
  std::int64_t size() const { return size_; }
  std::int64_t length() const { return options_.length; }
  // Safe to call from several threads. 0 <= index < size().
  Row operator[](std::int64_t index) const;

 private:
  const std::vector<Shard>& shards_;
  RowOptions options_;
  TokenId classification_;
  TokenId separator_;
  std::vector<std::uint64_t> shard_starts_;  // in the stream, and its end
  std::uint64_t content_ = 0;                // positions of the stream in a row
  std::int64_t size_ = 0;
};

// BERT's masking (Devlin et al. 2018, section 3.1): 15 % of the tokens are chosen; 80 % of the
// chosen ones become [MASK], 10 % a random token and 10 % stay. Every choice is a pure function of
// the key, so that any row can be masked alone. Each token is drawn independently, as in Hugging
// Face's collator: the share holds on average, not in each row. With `whole_words` each word is
// drawn instead and all its pieces are chosen; the replacement is drawn for each piece.
class Masker {
 public:
  // Throws Error (usage) when the vocabulary has no mask token. The tokenizer must outlive it.
  Masker(const Tokenizer& tokenizer, const MaskingSettings& settings);

  // Masks the ids in place. Appends the chosen positions, rising, to `positions` and the ids that
  // were there to `labels`. Special tokens are never chosen and never put in.
  void mask(std::span<TokenId> ids, std::uint64_t key, std::vector<std::int32_t>& positions,
            std::vector<TokenId>& labels) const;

 private:
  MaskingSettings settings_;
  const Tokenizer& tokenizer_;
  TokenId mask_;
  std::vector<char> is_special_;     // [vocabulary]
  std::vector<TokenId> candidates_;  // for random replacement: all but the special tokens

  // For each id, whether it is drawn separately. An id without a draw follows the id before it.
  std::vector<char> find_draws(std::span<const TokenId> ids) const;
};

// Chooses the source of each training row from the row's number alone, so that a resumed training
// and any number of processes choose the same. The sources take turns in a pattern of 1,024 rows,
// as evenly as whole rows allow. Each source has its rounded share of the pattern, and at least one
// row.
class SourceMixture {
 public:
  static constexpr std::int64_t kPattern = 1024;  // rows

  // Needs 1 to kPattern weights, all above 0.
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

// B rows of L ids end to end, all of them real tokens.
struct TokenBatch {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::vector<std::int64_t> ids;  // [B * L]
  // The positions where independent sequences begin, and the end: [sequences + 1]. A sequence is a
  // row or, with cross_documents false, a piece of a document inside a row. Sequences do not see
  // each other, and positions count from their beginnings.
  std::vector<std::int64_t> sequence_starts;

  std::int64_t tokens() const { return rows * length; }
};

// The loss is taken at `target_positions` (ascending, indices into ids) with these labels.
struct MaskedBatch : TokenBatch {
  std::vector<std::int64_t> target_positions;  // [masked]; may be empty in a very small batch
  std::vector<std::int64_t> labels;            // [masked]: the ids before masking
};

// The token after each one; kNoTarget if the next token belongs to another sequence.
struct CausalBatch : TokenBatch {
  // The value that cross-entropy ignores by default.
  static constexpr std::int64_t kNoTarget = -100;
  std::vector<std::int64_t> targets;  // [B * L]
  std::int64_t target_count = 0;      // of those that are not kNoTarget
};

struct BatchOptions {
  std::int64_t rows = 32;
  bool cross_documents = true;
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: rows in order, without end
};

// Decides which rows a batch has. Epochs follow each other without a gap, so every batch is full,
// and one may hold the last rows of one epoch and the first of the next.
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

// A data set and the relative weight at which its rows are drawn, among data sets of the same
// tokenizer.
struct WeightedDataset {
  const Dataset& dataset;
  double weight = 1;
};

// The rows of one or more data sets in the order of training. Each data set has separate epochs; an
// epoch of the whole has as many rows as all data sets together.
class TrainingRows {
 public:
  // Throws Error (failure) if a split does not fill one row. The data sets must outlive it.
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

// The common part of batches for masked and for causal language models. Every function may be
// called from several threads.
template <class Batch>
class RowBatches {
 public:
  virtual ~RowBatches() = default;

  // Batch n of training, n >= 0.
  Batch training(std::int64_t n) const;
  // Batch n of a pass over the rows in order, 0 <= n < validation_batches(limit). The last batch
  // may be smaller. With `token_limit` > 0 the pass has at most that many tokens, in whole rows
  // spread evenly over the split, but at least one row.
  Batch validation(std::int64_t n, std::int64_t token_limit = 0) const;
  std::int64_t validation_batches(std::int64_t token_limit = 0) const;

  double batches_per_epoch() const;
  const Rows& rows() const { return rows_.first(); }

 protected:
  // Validation reads the first source. Throws as TrainingRows does.
  RowBatches(const std::vector<WeightedDataset>& sources, Split split, const RowOptions& row,
             BatchOptions options)
      : rows_(sources, split, row, options), options_(options) {}
  // `key` decides the masks of the row.
  virtual void append(Row row, std::uint64_t key, Batch& batch) const = 0;

  TrainingRows rows_;
  BatchOptions options_;
};

// Training rows get new masks in each epoch. Validation masks come from a fixed seed, so that runs
// are compared on the same targets, and do not depend on the limit.
class MaskedBatches : public RowBatches<MaskedBatch> {
 public:
  MaskedBatches(const std::vector<WeightedDataset>& sources, Split split, std::int64_t length,
                const MaskingSettings& masking, BatchOptions options);
  MaskedBatches(const Dataset& dataset, Split split, std::int64_t length,
                const MaskingSettings& masking, BatchOptions options)
      : MaskedBatches(std::vector<WeightedDataset>{{dataset}}, split, length, masking, options) {}

 private:
  Masker masker_;

  void append(Row row, std::uint64_t key, MaskedBatch& batch) const override;
};

class CausalBatches : public RowBatches<CausalBatch> {
 public:
  CausalBatches(const std::vector<WeightedDataset>& sources, Split split, std::int64_t length,
                BatchOptions options);
  CausalBatches(const Dataset& dataset, Split split, std::int64_t length, BatchOptions options)
      : CausalBatches(std::vector<WeightedDataset>{{dataset}}, split, length, options) {}

 private:
  void append(Row row, std::uint64_t key, CausalBatch& batch) const override;
};

}  // namespace roformer
