// Settings of `fire`: a small network maps the distance, divided by the query's position, to a bias
// (Li 2024).
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
