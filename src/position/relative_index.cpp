#include "position/relative_index.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace roformer {

RelativeIndex relative_index(const Positions& queries, const Positions& keys,
                             const std::function<std::int64_t(std::int64_t)>& row) {
  const std::int64_t q = queries.count(), k = keys.count();
  if (queries.contiguous() && keys.contiguous()) {
    at::Tensor rows = at::empty({q + k - 1}, at::kInt);
    std::int32_t* const values = rows.mutable_data_ptr<std::int32_t>();
    const std::int64_t least = keys[0] - queries[q - 1];
    for (std::int64_t i = 0; i < q + k - 1; ++i) {
      values[i] = static_cast<std::int32_t>(row(least + i));
    }
    return RelativeIndex::of_differences(std::move(rows), q, k);
  }
  at::Tensor rows = at::empty({q, k}, at::kInt);
  std::int32_t* values = rows.mutable_data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < q; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      *values++ = static_cast<std::int32_t>(row(keys[j] - queries[i]));
    }
  }
  return RelativeIndex::of_pairs(std::move(rows));
}

DistanceRange distance_range(const Positions& queries, const Positions& keys) {
  const std::int64_t least = keys.least() - queries.largest();
  return {.least = least, .count = keys.largest() - queries.least() - least + 1};
}

at::Tensor distances_of(const DistanceRange& range) {
  return at::arange(range.least, range.least + range.count, at::kDouble);
}

at::Tensor bias_of_distance(const Positions& queries, const Positions& keys,
                            const std::function<at::Tensor(const at::Tensor&)>& values) {
  const DistanceRange range = distance_range(queries, keys);
  const RelativeIndex index =
      relative_index(queries, keys, [&](std::int64_t distance) { return distance - range.least; });
  return expand_relative(values(distances_of(range)), index);
}

}  // namespace roformer
