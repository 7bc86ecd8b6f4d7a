// Settings of `rerope`: rope with distances limited to a window (Su, kexue.fm/archives/9708).
#pragma once

#include <cstdint>

#include "config/schemes/rotary_layout.h"

namespace roformer {

struct ReropeSettings {
  RotaryLayout layout = RotaryLayout::half;
  double base = 10000;
  std::int64_t window = 512;
  double leak = 0;  // k of leaky ReRoPE; 0: ReRoPE
};

}  // namespace roformer
