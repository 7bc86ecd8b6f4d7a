// Settings of `transformer_xl`: projected sinusoids of the distance and two biases (Dai 2019, 3.3).
#pragma once

#include <cstdint>

namespace roformer {

struct TransformerXlSettings {
  double base = 10000;
  std::int64_t clamp = 0;  // largest distance; 0: no clamp
  bool untie = false;      // each layer has its own u and w
};

}  // namespace roformer
