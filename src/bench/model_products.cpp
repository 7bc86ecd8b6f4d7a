#include "bench/model_products.h"

#include <algorithm>
#include <cmath>

#include "config/attention_settings.h"

namespace roformer {

LayerProducts layer_products(const ModelSettings& model) {
  const auto width = static_cast<double>(model.width);
  const auto heads = static_cast<double>(model.heads * model.features_of_head());
  const auto shared = static_cast<double>(model.heads_of_keys() * model.features_of_head());
  const double matrices = is_gated(model.activation) ? 3 : 2;
  return {.projections = width * (heads + 2 * shared),
          .behind = width * heads + matrices * width * static_cast<double>(model.feed_forward),
          .of_pair = 2 * heads,
          .cross_target = 2 * width * heads,
          .cross_source = 2 * width * shared};
}

double keys_of_query(const AttentionSettings& attention, double length, std::int64_t head_width,
                     bool causal) {
  if (attention.kernel != AttentionKernel::softmax) {
    constexpr double kNeighbours = 16;  // of a chunk of 32 (tensor/causal_sums.cpp), in the mean
    const auto features = static_cast<double>(linear_feature_count(attention, head_width));
    return features + (causal ? std::min(kNeighbours, length / 2) : 0);
  }
  const auto window = static_cast<double>(attention.window);
  if (window == 0 || window >= length) return causal ? length / 2 : length;
  // The text's ends see less: `side` keys fall away at the first query, one less at each next.
  const auto lost = [length](double side) { return side * (side + 1) / 2 / length; };
  if (causal) return window - lost(window - 1);
  const double left = std::floor(window / 2);
  return window - lost(left) - lost(window - 1 - left);
}

double keys_of_layers(const Settings& settings, std::int64_t layers, double length, bool causal) {
  double keys = 0;
  for (const AttentionSettings& layer : attention_of_layers(settings.attention, layers)) {
    keys += keys_of_query(layer, length, settings.model.features_of_head(), causal);
  }
  return keys;
}

}  // namespace roformer
