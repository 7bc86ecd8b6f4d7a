// Settings of `t5`: a trained bias for each bucket of distances (Raffel 2020).
#pragma once

#include <cstdint>

#include "config/schemes/score_scale.h"

namespace roformer {

struct T5Settings {
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
  ScoreScale scale = ScoreScale::sqrt_d;
};

}  // namespace roformer
