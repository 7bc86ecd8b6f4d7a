// Says of a damaged file of weights which tensors lie where the damage is.
#pragma once

#include <string>

#include "base/checksums.h"

namespace roformer {

// The damage's message; of a safetensors file with ", part of NAME, NAME and 3 more" where a block
// is bad and the header can still be read.
std::string describe_damage(const Damage& damage);

}  // namespace roformer
