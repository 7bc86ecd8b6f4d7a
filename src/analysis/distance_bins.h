// Distances in ranges that double: 0; 1; 2; 3-4; 5-8; ... to both sides.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/attention_record.h"

namespace roformer {

// All of them for texts of `length` tokens, as first and last distance, |first| <= |last|, in the
// order of the distances.
std::vector<std::pair<std::int64_t, std::int64_t>> distance_ranges(std::int64_t length);

// Distances query - key: from `first` to `last`, both included, |first| <= |last|.
struct DistanceBin {
  std::int64_t first = 0, last = 0;
  std::vector<double> mass;            // [H]
  std::vector<double> standard_error;  // [H] of the mass
  double uniform = 0;                  // of equal weights
};

// In the order of the distances, without ranges that no query sees.
std::vector<DistanceBin> distance_bins(const AttentionMasses& masses);

}  // namespace roformer
