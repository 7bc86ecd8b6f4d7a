// Settings of `none`: no positions. A temperature can adapt the queries to long texts.
#pragma once

#include <cstdint>

namespace roformer {

struct NoneSettings {
  double attention_scale = 0;  // 0: no temperature
  std::int64_t floor_scale = 8192;
};

}  // namespace roformer
