// The distances of dual chunk attention.
#pragma once

#include <cstdint>

#include "config/schemes/dual_chunk.h"

namespace roformer {

// The distance that query i uses for key j <= i; 0 for a later key (section 27). The settings are
// resolved.
double dual_chunk_distance(std::int64_t i, std::int64_t j, const DualChunkSettings& settings);

}  // namespace roformer
