// Settings of `shaw`: trained vectors of clipped distances in keys and values (Shaw 2018).
#pragma once

#include <cstdint>

namespace roformer {

struct ShawSettings {
  std::int64_t left = 16;   // the largest distance j - i to the left
  std::int64_t right = 16;  // the largest distance to the right
  bool values = true;
};

}  // namespace roformer
