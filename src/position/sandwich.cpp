// Sandwich (Chi 2023): the inner products of sinusoidal embeddings are the bias; head h multiplies
// them by H / (8h). It has no parameters. Section 14.
#include <utility>
#include <vector>

#include "position/constant_bias.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Sandwich : public PositionScheme {
 public:
  Sandwich(const SandwichSettings& settings, at::Tensor coefficients)
      : settings_(settings), coefficients_(std::move(coefficients)) {}

  SchemeCapabilities capabilities() const override {
    return {.bias = BiasDependence{.on_distance_alone = true}};
  }
  at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const override {
    const auto make = [&] { return products_of_sinusoids(context, distances); };
    return coefficients_.requires_grad() ? make() : constant_.get(context, make);
  }

 private:
  SandwichSettings settings_;
  at::Tensor coefficients_;  // [H]
  mutable ConstantBias constant_;

  at::Tensor products_of_sinusoids(const AttentionContext& context,
                                   const at::Tensor& distances) const {
    const at::Tensor frequencies =
        at::tensor(rotary_frequencies(settings_.width, settings_.base), at::kDouble);
    const at::Tensor sum = at::cos(distances.unsqueeze(1) * frequencies).sum(1);
    const at::Tensor values =
        coefficients_.unsqueeze(1) * on_device(sum.unsqueeze(0), coefficients_.options());
    return on_device(values, at::TensorOptions().dtype(context.type).device(context.device));
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_sandwich_of(const SandwichSettings& settings,
                                                 at::Tensor coefficients) {
  return std::make_unique<Sandwich>(settings, std::move(coefficients));
}

std::unique_ptr<PositionScheme> make_sandwich(const SchemeInputs& in) {
  std::vector<double> coefficients;
  const auto heads = static_cast<double>(in.shape.heads);
  for (std::int64_t h = 1; h <= in.shape.heads; ++h) {
    coefficients.push_back(heads / (8 * static_cast<double>(h)));
  }
  return make_sandwich_of(in.settings.of<SandwichSettings>(),
                          at::tensor(coefficients, at::kDouble));
}

}  // namespace roformer
