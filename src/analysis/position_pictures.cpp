#include "analysis/position_pictures.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace roformer {
namespace {

constexpr std::int64_t kMostRows = 96;
constexpr std::int64_t kMostColumns = 128;
constexpr double kSameBias = 1e-5;  // of the largest

std::vector<std::vector<double>> rows_of(const at::Tensor& matrix) {
  const at::Tensor values = matrix.to(at::kCPU, at::kDouble).contiguous();
  std::vector<std::vector<double>> rows;
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const double* const row = values.const_data_ptr<double>() + i * values.size(1);
    rows.emplace_back(row, row + values.size(1));
  }
  return rows;
}

// If all values have the same sign, colours around zero would hide their differences.
HeatMap::Colours colours_of(const std::vector<std::vector<double>>& rows) {
  double least = INFINITY, greatest = -INFINITY;
  for (const std::vector<double>& row : rows) {
    for (const double value : row) {
      if (std::isnan(value)) continue;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  }
  return least > 0 || greatest < 0 ? HeatMap::Colours::sequential : HeatMap::Colours::diverging;
}

}  // namespace

at::Tensor bias_of_pairs(const PositionScheme& scheme, const PicturedBias& pictured) {
  const c10::AutoGradMode no_gradient(false);
  const PositionScheme& own = scheme.of_layer(pictured.layer);
  if (!own.capabilities().bias) return {};
  const Positions positions = Positions::range(0, pictured.length);
  const at::Tensor bias = own.bias({.queries = positions,
                                    .keys = positions,
                                    .layer = pictured.layer,
                                    .causal = pictured.causal,
                                    .device = pictured.device})
                              .to(at::kCPU, at::kDouble)
                              .squeeze(0)
                              .clone();
  if (!pictured.causal) return bias;
  const at::Tensor future = positions.tensor().unsqueeze(1) < positions.tensor().unsqueeze(0);
  return bias.masked_fill(future, std::numeric_limits<double>::quiet_NaN());
}

HeatMapGrid bias_maps(const BiasPicture& picture) {
  HeatMapGrid grid{.title = picture.title, .columns = 4};
  for (std::int64_t h = 0; h < std::min(picture.bias.size(0), picture.heads); ++h) {
    HeatMap map{.title = fmt::format("head {}", picture.first + h),
                .rows = {.title = "query"},
                .columns = {.title = "key"},
                .values = rows_of(picture.bias[h]),
                .size = 170};
    map.colours = colours_of(map.values);
    grid.maps.push_back(std::move(map));
  }
  return grid;
}

std::optional<BiasByDistance> bias_by_distance(const at::Tensor& bias) {
  const std::int64_t length = bias.size(1);
  const bool causal = std::isnan(bias[0][0][length - 1].item<double>());
  BiasByDistance result{
      .values = std::vector<std::vector<double>>(static_cast<std::size_t>(bias.size(0)))};
  const double reach = bias.nan_to_num(0).abs().max().item<double>();
  for (std::int64_t distance = causal ? 0 : 1 - length; distance < length; ++distance) {
    // Query i and key i - distance.
    const at::Tensor along = bias.diagonal(-distance, 1, 2);
    const at::Tensor spread = along.amax(-1) - along.amin(-1);
    if (spread.max().item<double>() > kSameBias * reach) return std::nullopt;
    result.distances.push_back(static_cast<double>(distance));
    for (std::size_t h = 0; h < result.values.size(); ++h) {
      result.values[h].push_back(along[static_cast<std::int64_t>(h)][0].item<double>());
    }
  }
  return result;
}

std::optional<HeatMap> parameter_map(const std::string& name, const at::Tensor& values) {
  if (!values.defined() || values.numel() < 2) return std::nullopt;
  at::Tensor matrix = values.detach().to(at::kCPU, at::kDouble);
  matrix = matrix.dim() < 2 ? matrix.reshape({1, -1})
                            : matrix.reshape({-1, matrix.size(matrix.dim() - 1)});
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  std::string shape = fmt::format("{} rows, {} columns", rows, columns);
  if (rows > kMostRows || columns > kMostColumns) {
    matrix = at::adaptive_avg_pool2d(matrix.unsqueeze(0),
                                     {std::min(rows, kMostRows), std::min(columns, kMostColumns)})
                 .squeeze(0);
    shape += ", neighbours averaged";
  }
  HeatMap map{.title = name,
              .subtitle = shape,
              .rows = {.title = "row",
                       .minimum = 0.0,
                       .maximum = static_cast<double>(std::max<std::int64_t>(1, rows - 1))},
              .columns = {.title = "column",
                          .minimum = 0.0,
                          .maximum = static_cast<double>(std::max<std::int64_t>(1, columns - 1))},
              .values = rows_of(matrix),
              .size = 260};
  map.colours = colours_of(map.values);
  return map;
}

}  // namespace roformer
