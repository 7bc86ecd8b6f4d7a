// A language model's loss in the units that people quote.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/error.h"

namespace roformer {

// exp(mean loss in nats); infinity where that overflows.
inline double perplexity(double mean_loss) {
  return std::exp(mean_loss);
}

// Nats summed over all predictions, as bits for each character (or byte) of the text they cover.
// The characters are those of the raw text, so that tokenizers can be compared.
inline double bits_per_character(double loss_sum, std::int64_t characters) {
  ROFORMER_ASSERT(characters > 0);
  return loss_sum / (static_cast<double>(characters) * std::numbers::ln2);
}

}  // namespace roformer
