// Rearranges a row's tokens to measure how much a model depends on their positions: the text begins
// later, its middle is missing, or its blocks are shuffled. Labels move with their tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batches.h"
#include "position/positions.h"

namespace roformer {

struct ArrangementSettings {
  std::int64_t shift = 0;           // the text begins at this position
  double drop_middle = 0;           // share of the row to remove; the rest keeps its positions
  std::int64_t shuffle_blocks = 0;  // the number of blocks to cut the row into and shuffle; 0: none

  bool operator==(const ArrangementSettings&) const = default;
};

struct Arrangement {
  std::vector<std::int64_t> order;  // the row's positions that are kept, in their new order
  Positions positions;              // the position of each
};

// The order for rows of `length` tokens. The first token, [CLS] in masked models, stays first.
// Every row is shuffled in the same way. Throws Error (usage) for more blocks than tokens, for a
// share that leaves nothing, and for shuffling and dropping at once.
Arrangement arrange(std::int64_t length, const ArrangementSettings& settings);

// The batch with its rows rearranged. Each row must be one sequence, unless the order is unchanged.
MaskedBatch arranged(MaskedBatch batch, const Arrangement& arrangement);
CausalBatch arranged(CausalBatch batch, const Arrangement& arrangement);

}  // namespace roformer
