// Pictures of what a positional scheme adds: its biases, by distance where they depend on nothing
// else, and its parameters as tables. Of a scheme as it starts or as training left it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "position/scheme.h"
#include "report/chart.h"

namespace roformer {

// The bias of a layer's scheme where `length` tokens see each other, [H or 1, L, L] float64; with a
// causal mask the future is NaN. Undefined: it has none.
struct PicturedBias {
  std::int64_t layer = 0;
  std::int64_t length = 0;  // L
  bool causal = false;
  at::Device device = at::kCPU;  // of the scheme's parameters
};
at::Tensor bias_of_pairs(const PositionScheme& scheme, const PicturedBias& pictured);

// One map a head, at most `heads` of them, named from `first` on.
struct BiasPicture {
  std::string title;
  at::Tensor bias;  // as bias_of_pairs()
  std::int64_t heads = 8;
  std::int64_t first = 0;
};
HeatMapGrid bias_maps(const BiasPicture& picture);

// The bias of each head against the distance query - key; nothing where it depends on more.
struct BiasByDistance {
  std::vector<double> distances;
  std::vector<std::vector<double>> values;  // [H]
};
std::optional<BiasByDistance> bias_by_distance(const at::Tensor& bias);

// A parameter as a picture, rows and columns averaged until they are few enough to see; a vector is
// one row. Undefined or empty ones give nothing.
std::optional<HeatMap> parameter_map(const std::string& name, const at::Tensor& values);

}  // namespace roformer
