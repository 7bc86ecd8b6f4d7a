// Settings of `shaw`: trained vectors of clipped distances in keys and values (Shaw 2018).
#pragma once

#include <cstdint>

namespace roformer {

struct ShawSettings {
  std::int64_t left = 16;   // clip of j - i on the left
  std::int64_t right = 16;  // and on the right
  bool values = true;
};

}  // namespace roformer
