// The matrix products of whole training steps in GFLOP, by the sizes of the layers: two for each
// multiply-add, attention's products of queries with keys and of scores with values included; three
// times as much for a step, whose backward pass makes two gradients of each product. What
// training.recompute computes again is not counted.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"

namespace roformer {

struct LanguageWork {
  double tokens = 0;
  double targets = 0;  // after the last attention only their rows are computed
  double length = 0;   // of a row
};
// A step of a masked or causal language model (settings.task).
double language_gflop(const Settings& settings, const LanguageWork& work);

// The forward pass of a model of whole texts of these lengths. After the last attention, and in the
// head, it computes one row of each text, or with `all_rows` every token.
double text_gflop(const Settings& settings, const std::vector<std::int64_t>& lengths,
                  bool all_rows = false);

// A translator's step on one pair of sentences of so many tokens.
double pair_gflop(const Settings& settings, double source, double target);

}  // namespace roformer
