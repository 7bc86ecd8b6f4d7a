// Settings of `fope`: rotary positions whose pairs rotate by sums of many frequencies (Hua 2024,
// arXiv:2412.17739).
#pragma once

#include <cstdint>

namespace roformer {

struct FopeSettings {
  double base = 10000;
  std::int64_t training_length = 0;  // N; 0: data.length
  double floor_ratio = 1;
  double pad_sin = 1;
  std::int64_t fourier_dim = 0;  // 0: the head's width
  bool trained = false;
  double gain = 0.3;
};

}  // namespace roformer
