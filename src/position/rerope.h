// The distances of ReRoPE.
#pragma once

#include "config/schemes/rerope.h"

namespace roformer {

// The distance used for `past` = i - j: itself inside the window, then the window (ReRoPE) or
// growing at the rate 1 / leak (leaky). The sign is kept (section 11 of the specification).
double rerope_distance(double past, const ReropeSettings& settings);

}  // namespace roformer
