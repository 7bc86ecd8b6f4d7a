// The distances of StreamingLLM and LM-Infinite.
#pragma once

#include <cstdint>

#include "config/schemes/streaming.h"

namespace roformer {

// Whether query i sees key j (section 26).
bool streaming_sees(std::int64_t i, std::int64_t j, const StreamingSettings& settings);

// The distance that query i uses for key j; 0 for a key that it does not see.
double streaming_distance(std::int64_t i, std::int64_t j, const StreamingSettings& settings);

}  // namespace roformer
