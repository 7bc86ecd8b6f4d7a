// Settings of `dual_chunk`: rope in chunks, dual chunk attention (An 2024, arXiv:2402.17463).
#pragma once

#include <cstdint>

#include "config/schemes/rotary_layout.h"

namespace roformer {

struct DualChunkSettings {
  RotaryLayout layout = RotaryLayout::half;
  double base = 10000;
  std::int64_t chunk = 0;  // 0: three quarters of data.length
  std::int64_t local = 0;  // 0: an eighth of data.length
  double magnitude = 1;    // of cosines and sines
};

// Returns the settings with every 0 replaced by its meaning.
DualChunkSettings resolved(DualChunkSettings settings, std::int64_t training_length);

}  // namespace roformer
