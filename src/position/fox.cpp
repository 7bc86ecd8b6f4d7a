// The Forgetting Transformer (FoX, Lin 2025, arXiv:2503.02130): each token has a gate for each
// head. The score of a query and a key falls by the logarithms of all gates between them. Gates
// that do not depend on the token turn FoX into ALiBi. Section 19.
#include <cmath>

#include "config/schemes/fox.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Fox : public PositionScheme {
 public:
  explicit Fox(const SchemeInputs& in) : settings_(in.settings.of<FoxSettings>()) {
    const std::vector<double> biases =
        forget_gate_biases(in.shape.heads, settings_.shortest_time, settings_.longest_time);
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) {
      Gate gate;
      if (settings_.gates == ForgetGates::fixed) {
        gate.bias = at::tensor(biases, at::kDouble).to(in.shape.type);
      } else {
        gate.bias = add_layer_parameter(
            in, layer,
            {.name = "gate.bias",
             .shape = {in.shape.heads},
             .initial = by_token() ? zeros() : Initializer([biases](auto values, Random&) {
               for (std::size_t h = 0; h < values.size(); ++h) {
                 values[h] = static_cast<float>(biases[h]);
               }
             }),
             .decay = false});
      }
      if (by_token()) {
        gate.weight = add_layer_parameter(in, layer,
                                          {.name = "gate.weight",
                                           .shape = {in.shape.heads, in.shape.width},
                                           .initial = normal(0.02)});
      }
      gates_.push_back(gate);
    }
  }

  SchemeCapabilities capabilities() const override {
    if (by_token()) return {.running_sums = true, .token_inputs = true};
    return {.bias = BiasDependence{.on_layer = settings_.gates == ForgetGates::bias_only,
                                   .on_distance_alone = true}};
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    if (settings_.rope_base == 0) return std::nullopt;
    return tables_.pair(context, {.frequencies = rotary_frequencies(width, settings_.rope_base),
                                  .layout = RotaryLayout::half});
  }

  at::Tensor token_inputs(std::int64_t layer, const at::Tensor& input) const override {
    const Gate& gate = gates_[static_cast<std::size_t>(layer)];
    const at::Tensor x = input.to(gate.weight.scalar_type());
    return (at::matmul(x, gate.weight.t()) + gate.bias).unsqueeze(-1);
  }
  // A cache stores the sums, because later tokens do not change them.
  at::Tensor cached_token_inputs(const at::Tensor& added,
                                 const at::Tensor& earlier) const override {
    const at::Tensor before =
        earlier.defined() ? earlier.squeeze(-1).narrow(2, earlier.size(2) - 1, 1) : at::Tensor();
    return summed_log_gates(added.squeeze(-1), before).unsqueeze(-1);
  }
  at::Tensor running_sums(const AttentionContext& context) const override {
    return context.token_inputs.squeeze(-1);
  }

  at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const override {
    const at::Tensor log_gate =
        at::log_sigmoid(gates_[static_cast<std::size_t>(context.layer)].bias).unsqueeze(1);
    return on_device(log_gate * -on_device(distances, log_gate.options()).unsqueeze(0),
                     at::TensorOptions().dtype(context.type).device(context.device));
  }

 private:
  struct Gate {
    at::Tensor weight;  // [H, M]
    at::Tensor bias;    // [H]
  };
  FoxSettings settings_;
  std::vector<Gate> gates_;  // one per layer
  mutable RotaryTables tables_;

  bool by_token() const { return settings_.gates == ForgetGates::trained; }
};

}  // namespace

at::Tensor summed_log_gates(const at::Tensor& logits, const at::Tensor& before) {
  // Uses ln sigmoid directly; the logarithm of a rounded sigmoid would be inexact.
  const at::Tensor sums = at::cumsum(at::log_sigmoid(logits.to(at::kDouble)), -1);
  return before.defined() ? sums + before : sums;
}

std::vector<double> forget_gate_biases(std::int64_t heads, double shortest, double longest) {
  std::vector<double> biases;
  for (std::int64_t h = 0; h < heads; ++h) {
    const double share = heads > 1 ? static_cast<double>(h) / static_cast<double>(heads - 1) : 0.0;
    const double time = shortest * std::pow(longest / shortest, share);
    biases.push_back(-std::log(std::expm1(1 / time)));
  }
  return biases;
}

std::unique_ptr<PositionScheme> make_fox(const SchemeInputs& inputs) {
  return std::make_unique<Fox>(inputs);
}

}  // namespace roformer
