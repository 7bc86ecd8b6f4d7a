// Settings of `xpos`: rope whose pairs decay with the distance (Sun 2022).
#pragma once

#include <cstdint>

namespace roformer {

struct XposSettings {
  double base = 10000;
  double gamma = 0.4;
  double scale_base = 512;
  bool centered = true;
  bool block_causal = true;  // block-causal attention at inference beyond the training length
  std::int64_t original_length = 0;  // 0: data.length
};

}  // namespace roformer
