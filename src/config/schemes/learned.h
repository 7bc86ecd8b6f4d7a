// Settings of `learned`: a trained table added to the embedding (Devlin 2019).
#pragma once

#include <cstdint>

namespace roformer {

struct LearnedSettings {
  std::int64_t length = 512;
  double initialization = 0.02;
  bool hierarchical = false;
  double hierarchical_alpha = 0.4;
};

}  // namespace roformer
