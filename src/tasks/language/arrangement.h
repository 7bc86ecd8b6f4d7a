// Other arrangements of a row's tokens, to ask how much a model depends on where they stand: the
// text begins later, its middle is missing, its blocks are shuffled. Labels go with their tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batches.h"
#include "position/positions.h"

namespace roformer {

struct ArrangementSettings {
  std::int64_t shift = 0;  // the text begins at this position
  double drop_middle = 0;  // share of the row that is taken out; the rest keeps its positions
  std::int64_t shuffle_blocks = 0;  // cuts the row into so many blocks and shuffles them; 0: none

  bool operator==(const ArrangementSettings&) const = default;
};

struct Arrangement {
  std::vector<std::int64_t> order;  // the row's positions that are kept, as they now follow
  Positions positions;              // where they stand, one each
};

// Of rows with `length` tokens. The first token, [CLS] of masked models, stays first. Shuffling is
// the same for every row. Throws Error (usage) for more blocks than tokens, for a share that leaves
// nothing, and for both at once.
Arrangement arrange(std::int64_t length, const ArrangementSettings& settings);

// The batch with its rows so arranged. Each row must be one sequence, unless the order is the old
// one.
MaskedBatch arranged(MaskedBatch batch, const Arrangement& arrangement);
CausalBatch arranged(CausalBatch batch, const Arrangement& arrangement);

}  // namespace roformer
