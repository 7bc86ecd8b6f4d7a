// Distances in ranges that double: 0; 1; 2; 3-4; 5-8; ... to both sides.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/attention_record.h"

namespace roformer {

// Distances query - key: from `first` to `last`, both included, |first| <= |last|.
struct DistanceBin {
  std::int64_t first = 0, last = 0;
  std::vector<double> mass;  // [H]
  double uniform = 0;        // of equal weights
};

// In the order of the distances, without ranges that no query sees.
std::vector<DistanceBin> distance_bins(const AttentionMasses& masses);

}  // namespace roformer
