// Rows: a split cut into pieces of equal length. The documents lie end to end, a separator after
// each, and row i is the i-th piece of that stream, so that no position is padding. A row is made
// when it is asked for, from the memory map; nothing is stored.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/data_settings.h"
#include "data/dataset.h"
#include "text/tokenizer.h"

namespace roformer {

struct Row {
  std::vector<TokenId> ids;  // [length]
  std::vector<std::int32_t>
      document_starts;  // positions in the row where a document begins; first 0
};

struct RowOptions {
  std::int64_t length = 128;
  bool begin_with_classification = true;  // the row's first id is [CLS], as BERT's
  // How many ids of the next row a row shows at its end: 1 for causal models, whose targets are the
  // ids one position ahead. Then the row has length + overlap ids.
  std::int64_t overlap = 0;
};

class Rows {
 public:
  // The data set must outlive the rows. A vocabulary without separator gets none, one without
  // [CLS] begins rows with text.
  Rows(const Dataset& dataset, Split split, RowOptions options);

  // Rows that are filled to the end; what is left of the stream is not used.
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

// BERT's masking (Devlin et al. 2018, section 3.1): 15 % of the tokens are chosen; of these 80 %
// become [MASK], 10 % a random token and 10 % stay. Every choice is a pure function of the key, so
// that any row can be masked on its own. Each token is drawn independently, as Hugging Face's
// collator does: the share holds on average, not in each row. With `whole_words` each word is drawn
// instead, all its pieces are chosen, and what they become is drawn for each piece.

class Masker {
 public:
  // Throws Error (usage) when the vocabulary has no mask token. The tokenizer must outlive it.
  Masker(const Tokenizer& tokenizer, const MaskingSettings& settings);

  // Masks the ids where they stand and appends to `positions` the chosen ones, rising, and to
  // `labels` the ids that were there. Special tokens are never chosen and never put in.
  void mask(std::span<TokenId> ids, std::uint64_t key, std::vector<std::int32_t>& positions,
            std::vector<TokenId>& labels) const;

 private:
  MaskingSettings settings_;
  const Tokenizer& tokenizer_;
  TokenId mask_;
  std::vector<char> is_special_;     // [vocabulary]
  std::vector<TokenId> candidates_;  // for random replacement: all but the special tokens

  // For each id whether it is drawn for itself; others share the fate of the one before.
  std::vector<char> find_draws(std::span<const TokenId> ids) const;
};

// Which of several sources a row of training comes from: a function of the row's number alone, so
// that a resumed training and any number of processes draw the same.

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

// What batches of masked and of causal language models have in common. All functions are safe to
// call from several threads.
template <class Batch>
class RowBatches {
 public:
  virtual ~RowBatches() = default;

  // Batch n of training, n >= 0.
  Batch training(std::int64_t n) const;
  // Batch n of a pass over the rows in order, 0 <= n < validation_batches(limit); the last one may
  // be smaller. `token_limit` > 0: the pass has at most so many tokens, in whole rows spread evenly
  // over the split, but one row at least.
  Batch validation(std::int64_t n, std::int64_t token_limit = 0) const;
  std::int64_t validation_batches(std::int64_t token_limit = 0) const;

  double batches_per_epoch() const;
  const Rows& rows() const { return rows_.first(); }

 protected:
  // Validation is of the first source. Throws as TrainingRows does.
  RowBatches(const std::vector<WeightedDataset>& sources, Split split, const RowOptions& row,
                  BatchOptions options)
      : rows_(sources, split, row, options), options_(options) {}
  // `key` decides the masks of the row.
  virtual void append(Row row, std::uint64_t key, Batch& batch) const = 0;

  TrainingRows rows_;
  BatchOptions options_;
};

// Training rows get new masks in each epoch. The masks of validation come from a fixed seed, so that
// two runs are compared on the same targets, and do not depend on the limit.
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
