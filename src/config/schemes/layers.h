// Settings of `layers`: a composite of different schemes in different layers.
#pragma once

#include <vector>

#include "config/layer_map.h"

namespace roformer {

struct LayersSettings {
  // By default every second layer has no positions (RNoPE). Llama 4 and SmolLM3 use {3-last/4:
  // none, others: rope}.
  std::vector<LayerMapEntry> schemes = parse_layer_map("{0-last/2: rope, others: none}");
};

}  // namespace roformer
