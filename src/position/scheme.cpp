#include "position/scheme.h"

#include <cmath>

namespace roformer {

double PositionScheme::score_scale(std::int64_t head_width) const {
  return 1.0 / std::sqrt(static_cast<double>(head_width));
}

std::string layer_parameter(std::int64_t layer, const std::string& name) {
  return "layers." + std::to_string(layer) + ".attention.position." + name;
}

}  // namespace roformer
