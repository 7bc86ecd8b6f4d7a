// Settings of `fire`: a small network of the distance over the query's position (Li 2024).
#pragma once

#include <cstdint>

namespace roformer {

struct FireSettings {
  std::int64_t hidden = 32;
  std::int64_t hidden_layers = 1;
  double initial_length = 512;  // L0
  double epsilon = 1e-6;
};

}  // namespace roformer
