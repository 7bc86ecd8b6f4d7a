// The distances of ReRoPE.
#pragma once

#include <cstdint>

#include "config/schemes/dual_chunk.h"
#include "config/schemes/rerope.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/streaming.h"

namespace roformer {

// The distance used for `past` = i - j: itself inside the window, then the window (ReRoPE) or
// growing at the rate 1 / leak (leaky). The sign is kept (section 11 of the specification).
double rerope_distance(double past, const ReropeSettings& settings);

// The distances of SelfExtend.

// The distance that query i uses for key j <= i; 0 for a later key (section 25).
double self_extend_distance(std::int64_t i, std::int64_t j, const SelfExtendSettings& settings);

// The distances of dual chunk attention.

// The distance that query i uses for key j <= i; 0 for a later key (section 27). The settings are
// resolved.
double dual_chunk_distance(std::int64_t i, std::int64_t j, const DualChunkSettings& settings);

// The distances of StreamingLLM and LM-Infinite.

// Whether query i sees key j (section 26).
bool streaming_sees(std::int64_t i, std::int64_t j, const StreamingSettings& settings);

// The distance that query i uses for key j; 0 for a key that it does not see.
double streaming_distance(std::int64_t i, std::int64_t j, const StreamingSettings& settings);

}  // namespace roformer
