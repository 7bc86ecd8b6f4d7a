// Settings of `self_extend`: rope that counts far distances in groups (Jin 2024, arXiv:2401.01325).
#pragma once

#include <cstdint>

#include "config/schemes/rotary_layout.h"
#include "config/word_list.h"

namespace roformer {

// The shift W - W/G of queries for far keys. The released code divides as real numbers (eager) or
// rounds down.
enum class SelfExtendShift { real, floor };
ROFORMER_WORDS(SelfExtendShift, "real", "floor");

struct SelfExtendSettings {
  RotaryLayout layout = RotaryLayout::half;
  double base = 10000;
  std::int64_t group = 8;      // G
  std::int64_t window = 1024;  // W
  SelfExtendShift shift = SelfExtendShift::real;
};

}  // namespace roformer
