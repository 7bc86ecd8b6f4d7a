// Maps pairs of positions to rows of a scheme's table: indices for tensor/relative_terms.h, buckets
// of distances, and products with projected rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "config/schemes/deberta.h"
#include "position/positions.h"
#include "tensor/relative_terms.h"

namespace roformer {

// The index row(key - query) for every pair.
RelativeIndex relative_index(const Positions& queries, const Positions& keys,
                             const std::function<std::int64_t(std::int64_t)>& row);

// The signed distances key - query that occur, least .. least + count - 1.
struct DistanceRange {
  std::int64_t least = 0, count = 0;
};
DistanceRange distance_range(const Positions& queries, const Positions& keys);
at::Tensor distances_of(const DistanceRange& range);  // [count] float64

// A bias that is a function of the distance. values(distances [count] float64) returns [H, count],
// in the order of the distances key - query = least, least + 1, .. The result is [1, H, Lq, Lk].
at::Tensor bias_of_distance(const Positions& queries, const Positions& keys,
                            const std::function<at::Tensor(const at::Tensor&)>& values);

// Buckets of the signed distance key - query: exact for near keys, logarithmic for far ones.
struct DistanceBuckets {
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;  // false: all future keys share bucket 0
};
// T5's buckets (Raffel 2020; section 5 of the specification): 0 .. buckets - 1.
std::int64_t t5_bucket(std::int64_t distance, const DistanceBuckets& buckets);

// DeBERTa's buckets (version 2; section 7): the distance query - key itself up to buckets / 2;
// beyond it, logarithmic with the distance's sign.
std::int64_t deberta_bucket(std::int64_t past, std::int64_t buckets, std::int64_t max_position);
// The row of DeBERTa's table for the distance query - key, 0 .. 2k - 1. The specification clamps
// the distance to less than max_position before it chooses a bucket. The released code does not,
// so its keys at that distance and beyond have the row 0, which no other distance has.
std::int64_t deberta_row(std::int64_t past, const DebertaSettings& settings);

// Products v . (W r) of vectors v with table rows r that a layer projects. A decoding step has one
// vector but a row for every token of the text, so it computes (W^T v) . r rather than projecting
// the whole table. The products are vectors . table: [B, H, L, D] and [H, R, D], or [B, H, L, M]
// and [1, R, M].
struct ProjectedRows {
  at::Tensor vectors;
  at::Tensor table;
};

// W r for each head: rows [R, M] and weight [H * D, M] -> [H, R, D].
at::Tensor projected_table(const at::Tensor& rows, const at::Tensor& weight, std::int64_t heads);

// Chooses the cheaper form for vectors [B, H, L, D], rows [R, M] and weight [H * D, M].
// Differentiable.
ProjectedRows projected_rows(const at::Tensor& vectors, const at::Tensor& rows,
                             const at::Tensor& weight);

}  // namespace roformer
