// Rows: a split cut into pieces of equal length. The documents lie end to end, a separator after
// each, and row i is the i-th piece of that stream, so that no position is padding. A row is made
// when it is asked for, from the memory map; nothing is stored.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace roformer
