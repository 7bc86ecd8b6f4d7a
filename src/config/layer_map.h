// A map from layers to values: `{0-2: rope, 3: none}`. A key is a layer (from 0), a range `0-2`, a
// range to the end `3-last`, a range in steps `3-last/4` (3, 7, 11, ...), several of these in
// quotes with commas, or `others`: the layers that no other key names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer {

struct LayerMapEntry {
  std::string layers;                                        // the key, as written
  std::string text;                                          // a single value; "" for a map
  std::vector<std::pair<std::string, std::string>> options;  // the pairs of a map
};

// Throws InvalidValue for a text that is no such map. The braces around it are optional.
std::vector<LayerMapEntry> parse_layer_map(std::string_view text);
// Returns text that parse_layer_map reads back.
std::string print_layer_map(const std::vector<LayerMapEntry>& entries);

// Whether a map with this key is a map of layers.
bool is_layer_key(std::string_view key);

// The index of each layer's entry, or -1. Throws InvalidValue if a key names a layer that the model
// does not have or that another key also names.
std::vector<std::int64_t> entries_of_layers(const std::vector<LayerMapEntry>& entries,
                                            std::int64_t layers);

}  // namespace roformer
