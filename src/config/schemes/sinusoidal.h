// Settings of `sinusoidal`: sines and cosines added to the embedding (Vaswani 2017, 3.5).
#pragma once

#include "config/word_list.h"

namespace roformer {

enum class SinusoidalLayout { interleaved, concat, tensor2tensor };
ROFORMER_WORDS(SinusoidalLayout, "interleaved", "concat", "tensor2tensor");

struct SinusoidalSettings {
  SinusoidalLayout layout = SinusoidalLayout::interleaved;
  double base = 10000;
  double scale = 1;  // multiplies the table before it is added to the embedding
};

}  // namespace roformer
