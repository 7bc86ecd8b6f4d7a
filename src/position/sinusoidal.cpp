// Sinusoidal absolute positions, added to the embedding (Vaswani 2017, section 3.5; RoFormer eq.
// 4). They have no parameters. Section 1.
#include "position/sinusoidal.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "position/scheme.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

class Sinusoidal : public PositionScheme {
 public:
  explicit Sinusoidal(const SchemeInputs& in)
      : settings_(in.settings.of<SinusoidalSettings>()),
        width_(in.shape.width_of_embedding()),
        type_(in.shape.type) {}

  at::Tensor embedding(const Positions& positions) const override {
    const at::Tensor table =
        sinusoid_table(positions, width_, settings_.base, settings_.layout) * settings_.scale;
    return table.to(type_);
  }

 private:
  SinusoidalSettings settings_;
  std::int64_t width_;
  at::ScalarType type_;
};

}  // namespace

std::unique_ptr<PositionScheme> make_sinusoidal(const SchemeInputs& inputs) {
  return std::make_unique<Sinusoidal>(inputs);
}

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
