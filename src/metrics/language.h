// What a language model's loss means in the units that people quote.
#pragma once

#include <cstdint>

namespace roformer {

// exp(mean loss in nats); infinity where that overflows.
double perplexity(double mean_loss);

// Nats summed over all predictions, as bits for each character (or byte) of the text they cover.
// The characters are those of the raw text, so that tokenizers can be compared.
double bits_per_character(double loss_sum, std::int64_t characters);

}  // namespace roformer
