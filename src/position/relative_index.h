// From positions to the rows of a scheme's table: the index that relative_terms works with.
#pragma once

#include <cstdint>
#include <functional>

#include "position/positions.h"
#include "tensor/relative_terms.h"

namespace roformer {

// The index of every pair under `row`, a function of the signed distance key - query.
RelativeIndex relative_index(const Positions& queries, const Positions& keys,
                             const std::function<std::int64_t(std::int64_t)>& row);

// The signed distances key - query that occur, least .. least + count - 1.
struct DistanceRange {
  std::int64_t least = 0, count = 0;
};
DistanceRange distance_range(const Positions& queries, const Positions& keys);
at::Tensor distances_of(const DistanceRange& range);  // [count] float64

// A bias that is a function of the distance: values(distances [count] float64) -> [H, count], one
// row a head, in the order of the distances key - query = least, least + 1, .. -> [1, H, Lq, Lk].
at::Tensor bias_of_distance(const Positions& queries, const Positions& keys,
                            const std::function<at::Tensor(const at::Tensor&)>& values);

}  // namespace roformer
