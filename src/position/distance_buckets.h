// Buckets of distances: exact for near ones, logarithmic for far ones. Functions of the signed
// distance key - query.
#pragma once

#include <cstdint>

namespace roformer {

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

}  // namespace roformer
