// Section `attention` of the configuration.
#pragma once

#include <cstdint>
#include <vector>

#include "config/layer_map.h"

namespace roformer {

enum class AttentionKernel { softmax, elu, favor };
enum class LogNScaling { none, query, query_unclipped, encoder };
enum class LinearRotation { numerator, before };

struct AttentionSettings {
  AttentionKernel kernel = AttentionKernel::softmax;
  double dropout = 0.0;
  std::int64_t window = 0;                // tokens that a query sees (inference); 0: all
  LogNScaling log_n = LogNScaling::none;  // log-n scaling of the scores
  std::int64_t log_n_length = 512;        // the training length in the logarithm's base
  std::int64_t features = 0;              // FAVOR+ features; 0: D ln D rounded to even
  std::int64_t redraw = 1000;             // steps between redraws of the FAVOR+ matrix
  bool favor_stabilize = true;
  double favor_epsilon = 1e-4;
  LinearRotation linear_rotation = LinearRotation::numerator;  // eq. 19, or rotate first
  std::vector<LayerMapEntry> layers;                           // different settings for some layers
};

// FAVOR+ features of a head: attention.features, or D ln D rounded to even (Choromanski 2021).
std::int64_t favor_features(const AttentionSettings& attention, std::int64_t head_width);
// Features of linear attention: the head's width for elu, favor_features for favor.
std::int64_t linear_feature_count(const AttentionSettings& attention, std::int64_t head_width);

// The settings of every layer. Throws InvalidValue if attention.layers does not fit the number of
// layers or contains a setting that cannot differ between layers.
std::vector<AttentionSettings> attention_of_layers(const AttentionSettings& attention,
                                                   std::int64_t layers);
// Whether any layer has linear attention.
bool uses_linear_attention(const AttentionSettings& attention);

}  // namespace roformer
