// KERPLE (Chi 2022): kernels of the distance d, -r1 ln(1 + r2 d) or -r1 d^r2, with two trained
// numbers for each head and layer. Section 14.

#include "config/schemes/kerple.h"
#include "position/scheme.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr double kLeast = 0.01;  // the authors clamp to this before every forward pass

class Kerple : public PositionScheme {
 public:
  explicit Kerple(const SchemeInputs& in) : variant_(in.settings.of<KerpleSettings>().variant) {
    const bool power = variant_ == KerpleVariant::power;
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) {
      const auto add = [&](const char* name, double high, std::function<void(at::Tensor&)> limit) {
        return add_layer_parameter(in, layer,
                                   {.name = name,
                                    .shape = {in.shape.heads},
                                    .initial = uniform(0, high),
                                    .decay = false,
                                    .constraint = std::move(limit)});
      };
      const auto at_least = [](at::Tensor& values) { values.clamp_(kLeast); };
      const auto exponent = [](at::Tensor& values) { values.clamp_(kLeast, 2); };
      Layer result;
      result.r1 = add("r1", power ? 1 : 2, at_least);
      result.r2 = power ? add("r2", 2, exponent) : add("r2", 1, at_least);
      layers_.push_back(result);
    }
  }

  SchemeCapabilities capabilities() const override {
    return {.bias = BiasDependence{.on_layer = true, .on_distance_alone = true}};
  }
  at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const override {
    const Layer& layer = layers_[static_cast<std::size_t>(context.layer)];
    const at::Tensor distance = on_device(distances.abs(), layer.r1.options());
    const at::Tensor r1 = layer.r1.unsqueeze(1), r2 = layer.r2.unsqueeze(1);
    if (variant_ == KerpleVariant::log) return -r1 * at::log1p(r2 * distance);
    // 0^r2 is 0 with slope 0; LibTorch's power would take the logarithm of 0.
    const at::Tensor apart = (distance > 0).to(distance.scalar_type());
    return -r1 * at::pow(distance.clamp_min(1), r2) * apart;
  }

 private:
  struct Layer {
    at::Tensor r1, r2;  // [H]
  };
  KerpleVariant variant_;
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<PositionScheme> make_kerple(const SchemeInputs& inputs) {
  return std::make_unique<Kerple>(inputs);
}

}  // namespace roformer
