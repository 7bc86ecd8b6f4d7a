// Sinusoidal absolute positions, added to the embedding (Vaswani 2017, section 3.5; RoFormer eq.
// 4). Section 1. No parameters.
#include <ATen/TensorOperators.h>

#include "config/schemes/sinusoidal.h"
#include "position/scheme.h"
#include "position/sinusoid.h"

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

}  // namespace roformer
