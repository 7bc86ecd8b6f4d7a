// The matrix products of a model's layers, in multiply-adds: what every benchmark of steps counts.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace roformer {

struct LayerProducts {
  double projections = 0;  // of a token: its queries, keys and values
  double behind = 0;       // of a token: the output of its attention, the feed-forward layer
  double of_pair = 0;      // of a query and a key: their score, the share of the value
  // Cross-attention instead of these: of a target's token and of a source's.
  double cross_target = 0;
  double cross_source = 0;
};
LayerProducts layer_products(const ModelSettings& model);

// Keys that a query of a text is multiplied with in a layer, in the mean: all or those in front of
// it, within the window; for linear attention its features, and a causal form's neighbours.
double keys_of_query(const AttentionSettings& attention, double length, std::int64_t head_width,
                     bool causal);
// Their sum over so many layers of a stack.
double keys_of_layers(const Settings& settings, std::int64_t layers, double length, bool causal);

}  // namespace roformer
