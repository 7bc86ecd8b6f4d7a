// Attention with linear biases (ALiBi, Press 2022): each head lowers its scores linearly with the
// distance, with its own slope. Causal as published; in encoders symmetric or with separate slopes
// for the two sides (the author's repository). Section 8.
#include <bit>
#include <cmath>
#include <utility>

#include "config/schemes/alibi.h"
#include "position/constant_bias.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Alibi : public PositionScheme {
 public:
  Alibi(at::Tensor left, at::Tensor right) : left_(std::move(left)), right_(std::move(right)) {}

  SchemeCapabilities capabilities() const override {
    return {.bias = BiasDependence{.on_distance_alone = true}};
  }
  at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const override {
    const auto make = [&] { return slopes_times_distance(context, distances); };
    return left_.requires_grad() || right_.requires_grad() ? make() : constant_.get(context, make);
  }

 private:
  at::Tensor left_, right_;  // [H]
  mutable ConstantBias constant_;

  at::Tensor slopes_times_distance(const AttentionContext& context,
                                   const at::Tensor& distances) const {
    const at::Tensor distance = on_device(distances, left_.options()).unsqueeze(0);
    const at::Tensor values =
        left_.unsqueeze(1) * distance.clamp_max(0) - right_.unsqueeze(1) * distance.clamp_min(0);
    return on_device(values, at::TensorOptions().dtype(context.type).device(context.device));
  }
};

}  // namespace

std::vector<double> alibi_slopes(std::int64_t heads) {
  const auto of_power = [](std::int64_t count) {
    std::vector<double> slopes;
    for (std::int64_t h = 1; h <= count; ++h) {
      slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(count)));
    }
    return slopes;
  };
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> slopes = of_power(below);
  const std::vector<double> above = of_power(2 * below);
  for (std::size_t i = 0; slopes.size() < static_cast<std::size_t>(heads); i += 2) {
    slopes.push_back(above[i]);
  }
  return slopes;
}

std::unique_ptr<PositionScheme> make_alibi_of_slopes(at::Tensor left, at::Tensor right) {
  return std::make_unique<Alibi>(std::move(left), std::move(right));
}

std::unique_ptr<PositionScheme> make_alibi(const SchemeInputs& in) {
  const AlibiSettings& settings = in.settings.of<AlibiSettings>();
  const std::vector<double> slopes = alibi_slopes(in.shape.heads);
  if (settings.trained) {
    const auto add = [&](const char* name) {
      return in.parameters.add({.name = name,
                                .shape = {in.shape.heads},
                                .initial =
                                    [slopes](std::span<float> values, Random&) {
                                      for (std::size_t i = 0; i < values.size(); ++i) {
                                        values[i] = static_cast<float>(slopes[i]);
                                      }
                                    },
                                .decay = false});
    };
    at::Tensor left = add("position.left");
    return make_alibi_of_slopes(std::move(left), add("position.right"));
  }
  const at::Tensor left = at::tensor(slopes, at::kDouble);
  // Causal: one line continues through both sides; the mask hides the right one.
  return make_alibi_of_slopes(left, settings.variant == AlibiVariant::causal ? -left : left);
}

}  // namespace roformer
