// The distances of ReRoPE.
#pragma once

#include "config/schemes/rerope.h"

namespace roformer {

// The distance that `past` = i - j counts as: itself below the window, then the window (ReRoPE) or
// growing at 1 / leak (leaky); the sign is kept (section 11 of the specification).
double rerope_distance(double past, const ReropeSettings& settings);

}  // namespace roformer
