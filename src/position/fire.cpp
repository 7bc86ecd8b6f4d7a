// FIRE (Li 2024, eq. 5): a small network maps the distance to a bias for each head. It takes the
// distance on a logarithmic scale, as a share of the query's position. Each layer has its own
// network. Section 14.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr std::int64_t kRows = 1 << 14;  // pairs whose hidden features are held at a time

using Network = FireLayer::Network;

// Returns the input of each linear map and then the result; ReLU lies between the maps.
std::vector<at::Tensor> features(const Network& network, const at::Tensor& x) {
  std::vector<at::Tensor> all{x};
  for (std::size_t i = 0; i < network.weights.size(); ++i) {
    at::Tensor next = at::addmm(network.biases[i], all.back(), network.weights[i].t());
    if (i + 1 < network.weights.size()) next.clamp_min_(0);
    all.push_back(std::move(next));
  }
  return all;
}

// Applies the network to every number of x [N, 1] -> [N, H] without keeping hidden features.
at::Tensor apply(const Network& network, const at::Tensor& x) {
  std::vector<at::Tensor> inputs{x};
  inputs.insert(inputs.end(), network.weights.begin(), network.weights.end());
  inputs.insert(inputs.end(), network.biases.begin(), network.biases.end());
  GradientRecorder recorder("attention/fire", std::move(inputs));
  Network held;
  for (const at::Tensor& weight : network.weights) held.weights.push_back(weight.detach());
  for (const at::Tensor& bias : network.biases) held.biases.push_back(bias.detach());
  const at::Tensor numbers = x.detach();
  const auto for_pieces = [count = numbers.size(0)](const auto& function) {
    for (std::int64_t begin = 0; begin < count; begin += kRows) {
      function(begin, std::min(kRows, count - begin));
    }
  };
  std::vector<at::Tensor> outputs;
  for_pieces([&](std::int64_t begin, std::int64_t count) {
    outputs.push_back(features(held, numbers.narrow(0, begin, count)).back());
  });
  return recorder.finish(
      at::cat(outputs, 0), [held, numbers, for_pieces](const Gradients& gradients) -> Gradients {
        const std::size_t maps = held.weights.size();
        Gradients result{at::zeros_like(numbers)};
        for (const at::Tensor& weight : held.weights) result.push_back(at::zeros_like(weight));
        for (const at::Tensor& bias : held.biases) result.push_back(at::zeros_like(bias));
        for_pieces([&](std::int64_t begin, std::int64_t count) {
          const std::vector<at::Tensor> all = features(held, numbers.narrow(0, begin, count));
          at::Tensor slope = gradients[0].narrow(0, begin, count);
          for (std::size_t i = maps; i-- > 0;) {
            result[1 + i].add_(at::mm(slope.t(), all[i]));
            result[1 + maps + i].add_(slope.sum(0));
            slope = at::mm(slope, held.weights[i]);
            if (i > 0) slope.mul_(all[i] > 0);
          }
          result[0].narrow(0, begin, count).copy_(slope);
        });
        return result;
      });
}

class Fire : public PositionScheme {
 public:
  Fire(const FireSettings& settings, std::vector<FireLayer> layers)
      : settings_(settings), layers_(std::move(layers)) {}

  SchemeCapabilities capabilities() const override {
    return {.bias = BiasDependence{.on_layer = true}};
  }
  at::Tensor bias(const AttentionContext& context) const override {
    const FireLayer& layer = layers_[static_cast<std::size_t>(context.layer)];
    const at::TensorOptions options = layer.slope.options();
    const at::Tensor queries = on_device(context.queries.tensor(), options).unsqueeze(1);
    const at::Tensor keys = on_device(context.keys.tensor(), options).unsqueeze(0);
    const auto scaled = [&](const at::Tensor& x) { return at::log1p((layer.slope * x).abs()); };
    const at::Tensor threshold = (layer.threshold * settings_.initial_length).abs();
    const at::Tensor share =
        scaled(queries - keys) / (scaled(at::maximum(threshold, queries)) + settings_.epsilon);
    return apply(layer.network, share.reshape({-1, 1}))
        .view({1, queries.size(0), keys.size(1), layer.network.biases.back().size(0)})
        .permute({0, 3, 1, 2})
        .contiguous();
  }

 private:
  FireSettings settings_;
  std::vector<FireLayer> layers_;
};

FireLayer add_layer(const SchemeInputs& in, std::int64_t index) {
  const FireSettings& settings = in.settings.of<FireSettings>();
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape,
                       Initializer initial, bool decay) {
    return add_layer_parameter(
        in, index,
        {.name = name, .shape = std::move(shape), .initial = std::move(initial), .decay = decay});
  };
  FireLayer layer{.slope = add("slope", {1}, constant(0.1), false),
                  .threshold = add("threshold", {1}, constant(1), false)};
  std::int64_t width = 1;
  for (std::int64_t n = 0; n <= settings.hidden_layers; ++n) {
    const std::int64_t out = n < settings.hidden_layers ? settings.hidden : in.shape.heads;
    const std::string name = std::to_string(n);
    const double reach = 1 / std::sqrt(static_cast<double>(width));
    layer.network.weights.push_back(
        add(name + ".weight", {out, width}, uniform(-reach, reach), true));
    layer.network.biases.push_back(add(name + ".bias", {out}, uniform(-reach, reach), false));
    width = out;
  }
  return layer;
}

}  // namespace

std::unique_ptr<PositionScheme> make_fire_of(const FireSettings& settings,
                                             std::vector<FireLayer> layers) {
  return std::make_unique<Fire>(settings, std::move(layers));
}

std::unique_ptr<PositionScheme> make_fire(const SchemeInputs& in) {
  std::vector<FireLayer> layers;
  for (std::int64_t i = 0; i < in.shape.layers; ++i) layers.push_back(add_layer(in, i));
  return make_fire_of(in.settings.of<FireSettings>(), std::move(layers));
}

}  // namespace roformer
