// From positions to the rows of a scheme's table: the index that relative_terms works with.
#pragma once

#include <ATen/core/Tensor.h>

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

// Buckets of distances: exact for near ones, logarithmic for far ones. Functions of the signed
// distance key - query.

struct DistanceBuckets {
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;  // else future keys share bucket 0
};
// T5's (Raffel 2020; section 5 of the specification): 0 .. buckets - 1.
std::int64_t t5_bucket(std::int64_t distance, const DistanceBuckets& buckets);

// DeBERTa's (version 2; section 7): the distance query - key itself up to buckets / 2, then
// logarithmic with its sign.
std::int64_t deberta_bucket(std::int64_t past, std::int64_t buckets, std::int64_t max_position);

// Products v . (W r) of vectors with table rows r that a layer projects. A decoding step has one
// vector and a row for every token of the text; it computes (W^T v) . r instead, so that the table
// is not projected again for every token.

// The products are vectors . table: [B, H, L, D] and [H, R, D], or [B, H, L, M] and [1, R, M].
struct ProjectedRows {
  at::Tensor vectors;
  at::Tensor table;
};

// vectors [B, H, L, D], rows [R, M], weight [H * D, M]: the cheaper form. Differentiable.
ProjectedRows projected_rows(const at::Tensor& vectors, const at::Tensor& rows,
                             const at::Tensor& weight);

}  // namespace roformer
