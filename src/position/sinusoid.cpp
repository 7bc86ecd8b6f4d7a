#include "position/sinusoid.h"

#include <ATen/ops/empty.h>

#include <cmath>

namespace roformer {

at::Tensor sinusoid_table(const Positions& positions, std::int64_t width, double base,
                          SinusoidalLayout layout) {
  at::Tensor table = at::empty({positions.count(), width}, at::kDouble);
  double* const values = table.mutable_data_ptr<double>();
  const std::int64_t half = width / 2;
  for (std::int64_t t = 0; t < half; ++t) {
    const double exponent =
        layout == SinusoidalLayout::tensor2tensor
            ? static_cast<double>(t) / std::max<double>(1, static_cast<double>(half - 1))
            : static_cast<double>(2 * t) / static_cast<double>(width);
    const double frequency = std::pow(base, -exponent);
    const bool interleaved = layout == SinusoidalLayout::interleaved;
    const std::int64_t sine = interleaved ? 2 * t : t;
    const std::int64_t cosine = interleaved ? 2 * t + 1 : t + half;
    for (std::int64_t i = 0; i < positions.count(); ++i) {
      const double angle = static_cast<double>(positions[i]) * frequency;
      values[i * width + sine] = std::sin(angle);
      values[i * width + cosine] = std::cos(angle);
    }
  }
  return table;
}

}  // namespace roformer
