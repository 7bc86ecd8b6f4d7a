// Settings of `nezha`: Shaw's form with fixed sines and cosines of the distance (Wei 2019).
#pragma once

#include <cstdint>

namespace roformer {

struct NezhaSettings {
  std::int64_t clip = 64;
  double base = 10000;
};

}  // namespace roformer
