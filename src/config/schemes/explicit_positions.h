// Settings of `explicit_positions`: each batch draws its positions instead of counting them.
// Randomized positions (Ruoss 2023), SHAPE (Kiyono 2021) or CAPE (Likhomanenko 2021).
#pragma once

#include <cstdint>

#include "config/schemes/rotary_layout.h"
#include "config/schemes/sinusoidal.h"
#include "config/word_list.h"

namespace roformer {

enum class PositionDraw { randomized, shape, cape };
ROFORMER_WORDS(PositionDraw, "randomized", "shape", "cape");

// The scheme that uses the drawn positions.
enum class ExplicitForm { rope, alibi, sinusoidal, learned, noisy_alibi };
ROFORMER_WORDS(ExplicitForm, "rope", "alibi", "sinusoidal", "learned", "noisy_alibi");

struct ExplicitPositionsSettings {
  PositionDraw draw = PositionDraw::randomized;
  ExplicitForm form = ExplicitForm::rope;
  RotaryLayout layout = RotaryLayout::interleaved;
  SinusoidalLayout sinusoids = SinusoidalLayout::interleaved;
  double base = 10000;
  std::int64_t positions = 2048;  // N of randomized, K of SHAPE
  double global_shift = 5;        // CAPE: G
  double local_shift = 0.5;       // CAPE: E
  double largest_scale = 1.03;    // CAPE: S
  double initialization = 0.02;   // of the learned table
};

}  // namespace roformer
