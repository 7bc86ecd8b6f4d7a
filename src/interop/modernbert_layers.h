// Which layers of a ModernBERT attend to the whole text and which to a window around each token,
// and the base of the rotation that each kind has: as attention.layers and position.layers say it,
// and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schemes/rotary_layout.h"
#include "config/settings.h"

namespace roformer {

struct ModernBertLayers {
  std::vector<bool> full;     // of every layer: attends to the whole text
  std::int64_t window = 129;  // tokens that the others see, as many on the left as on the right
  double full_base = 160000, window_base = 10000;
  std::vector<RotaryLayout> layouts = {};  // of every layer; theirs are halves
};

// Sets attention.window and attention.layers, position.scheme and its options.
void set_modernbert_layers(const ModernBertLayers& layers, Settings& settings);

// Appends to `problems`, in words with the key, what ModernBERT's layers cannot be.
ModernBertLayers modernbert_layers_of(const Settings& settings, std::vector<std::string>& problems);

// n where the layers 0, n, 2n, ... and no others see the whole text; 0: they are others.
std::int64_t step_of_full_layers(const std::vector<bool>& full);

}  // namespace roformer
