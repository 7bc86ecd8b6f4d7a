// Frequency scalings of RoPE for texts longer than those it was trained on. Section 10 of the
// specification names the source of each.
#pragma once

#include <cstdint>
#include <vector>

#include "config/schemes/rope.h"

namespace roformer {

struct ScaledFrequencies {
  std::vector<double> frequencies;  // [width / 2]
  double factor = 1;  // multiplies cosines and sines; rotated scores grow by its square
};

// The frequencies of the rotary width under settings.scaling. `training_length` replaces a
// settings.original_length of 0; `length` is the number of positions in use (dynamic NTK).
ScaledFrequencies scaled_frequencies(const RopeSettings& settings, std::int64_t width,
                                     std::int64_t training_length, std::int64_t length);

}  // namespace roformer
