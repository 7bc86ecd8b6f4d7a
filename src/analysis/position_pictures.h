// Pictures of a positional scheme, initialised or trained: its biases, plotted by distance if they
// depend only on it, and its parameters as maps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "position/scheme.h"
#include "report/chart.h"

namespace roformer {

// The bias of a layer's scheme for `length` tokens, [H or 1, L, L] float64; with a causal mask the
// future is NaN. Undefined if the scheme has no bias.
struct PicturedBias {
  std::int64_t layer = 0;
  std::int64_t length = 0;  // L
  bool causal = false;
  at::Device device = at::kCPU;  // of the scheme's parameters
};
at::Tensor bias_of_pairs(const PositionScheme& scheme, const PicturedBias& pictured);

// One map per head, for at most `heads` heads, named from `first` on.
struct BiasPicture {
  std::string title;
  at::Tensor bias;  // as bias_of_pairs()
  std::int64_t heads = 8;
  std::int64_t first = 0;
};
HeatMapGrid bias_maps(const BiasPicture& picture);

// The bias of each head against the distance query - key. Empty if it depends on more.
struct BiasByDistance {
  std::vector<double> distances;
  std::vector<std::vector<double>> values;  // [H]
};
std::optional<BiasByDistance> bias_by_distance(const at::Tensor& bias);

// A parameter as a picture. Neighbouring rows and columns are averaged until there are few enough
// to see. A vector is one row. Empty for undefined or empty tensors.
std::optional<HeatMap> parameter_map(const std::string& name, const at::Tensor& values);

}  // namespace roformer
