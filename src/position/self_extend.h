// The distances of SelfExtend.
#pragma once

#include <cstdint>

#include "config/schemes/self_extend.h"

namespace roformer {

// The distance that query i uses for key j <= i; 0 for a later key (section 25).
double self_extend_distance(std::int64_t i, std::int64_t j, const SelfExtendSettings& settings);

}  // namespace roformer
