#include "position/sinusoid.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace roformer {

at::Tensor sinusoids_at(const at::Tensor& positions, std::int64_t width, double base,
                        SinusoidalLayout layout) {
  const std::int64_t half = width / 2;
  std::vector<double> frequencies;
  for (std::int64_t t = 0; t < half; ++t) {
    const double exponent =
        layout == SinusoidalLayout::tensor2tensor
            ? static_cast<double>(t) / std::max<double>(1, static_cast<double>(half - 1))
            : static_cast<double>(2 * t) / static_cast<double>(width);
    frequencies.push_back(std::pow(base, -exponent));
  }
  const at::Tensor angles =
      positions.to(at::kDouble).unsqueeze(-1) * at::tensor(frequencies, at::kDouble);
  return layout == SinusoidalLayout::interleaved
             ? at::stack({angles.sin(), angles.cos()}, -1).flatten(-2)
             : at::cat({angles.sin(), angles.cos()}, -1);
}

at::Tensor sinusoid_table(const Positions& positions, std::int64_t width, double base,
                          SinusoidalLayout layout) {
  return sinusoids_at(positions.tensor(), width, base, layout);
}

}  // namespace roformer
