// The temperature of queries in models without positions.
#pragma once

#include <cstdint>

#include "config/schemes/none.h"

namespace roformer {

// 1 + attention_scale * ln(1 + floor((i + 1) / floor_scale)) of the query at position i (Llama 4).
double query_temperature(std::int64_t i, const NoneSettings& settings);

}  // namespace roformer
