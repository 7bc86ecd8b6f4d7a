// Settings of `none`: no positions. A temperature can adapt the queries to long texts. A translator
// whose attention to the source has no positions takes `scale` for it.
#pragma once

#include <cstdint>

#include "config/schemes/score_scale.h"

namespace roformer {

struct NoneSettings {
  double attention_scale = 0;  // 0: no temperature
  std::int64_t floor_scale = 8192;
  ScoreScale scale = ScoreScale::sqrt_d;
};

}  // namespace roformer
