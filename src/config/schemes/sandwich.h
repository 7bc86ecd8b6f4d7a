// Settings of `sandwich`: a constant bias of products of sinusoids (Chi 2023).
#pragma once

#include <cstdint>

namespace roformer {

struct SandwichSettings {
  double base = 10000;
  std::int64_t width = 128;  // d-bar
};

}  // namespace roformer
