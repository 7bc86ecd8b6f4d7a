#include "position/score_network.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tensor/gradient.h"

namespace roformer {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 22;  // of a hidden layer held at a time

// One layer over rows of pairs: y[o, i, j] = b[o] + sum over t, c of W[t, c, o] x[c, i, j + t -
// K/2].
struct PairLayer {
  at::Tensor weight;  // [K, in, out]
  at::Tensor bias;    // [out]

  std::int64_t taps() const { return weight.size(0); }
  at::Tensor padded(const at::Tensor& x) const {
    return taps() == 1 ? x : at::constant_pad_nd(x, {taps() / 2, taps() / 2});
  }

  // x [in, rows, Lk] -> [out, rows, Lk]
  at::Tensor forward(const at::Tensor& x) const {
    const std::int64_t keys = x.size(2);
    const at::Tensor wide = padded(x);
    at::Tensor sum = bias.unsqueeze(1);
    for (std::int64_t t = 0; t < taps(); ++t) {
      sum = sum + at::matmul(weight[t].t(), wide.narrow(2, t, keys).flatten(1));
    }
    return sum.unflatten(1, {x.size(1), keys});
  }

  // Adds to the gradients of weight and bias; returns that of x.
  at::Tensor backward(const at::Tensor& x, const at::Tensor& slopes, const PairLayer& to) const {
    const std::int64_t keys = x.size(2);
    const at::Tensor wide = padded(x), flat = slopes.flatten(1);
    const at::Tensor to_wide = at::zeros_like(wide);
    to.bias.add_(flat.sum(1));
    for (std::int64_t t = 0; t < taps(); ++t) {
      to.weight[t].add_(at::matmul(wide.narrow(2, t, keys).flatten(1), flat.t()));
      to_wide.narrow(2, t, keys).add_(at::matmul(weight[t], flat).unflatten(1, {x.size(1), keys}));
    }
    return to_wide.narrow(2, taps() / 2, keys);
  }
};

struct ScoreNetworkState {
  at::Tensor scores, bias, past;
  PairLayer first, second;
  double slope = 0.01;

  struct Rows {
    std::int64_t text = 0, row = 0, count = 0;
  };
  std::vector<Rows> all_rows() const {
    const std::int64_t queries = scores.size(2), keys = scores.size(3);
    const std::int64_t step =
        std::clamp<std::int64_t>(kNumbers / std::max<std::int64_t>(1, keys * first.weight.size(2)),
                                 1, std::max<std::int64_t>(1, queries));
    std::vector<Rows> all;
    for (std::int64_t text = 0; text < scores.size(0); ++text) {
      for (std::int64_t row = 0; row < queries; row += step) {
        all.push_back({.text = text, .row = row, .count = std::min(step, queries - row)});
      }
    }
    return all;
  }

  at::Tensor visible(const at::Tensor& x, const Rows& rows) const {
    return past.defined() ? x * past.narrow(0, rows.row, rows.count) : x;
  }
  // [C, rows, Lk]
  at::Tensor channels(const Rows& rows) const {
    const at::Tensor own = scores[rows.text].narrow(1, rows.row, rows.count);
    if (!bias.defined()) return visible(own, rows);
    return visible(at::cat({own, bias.narrow(1, rows.row, rows.count)}, 0), rows);
  }
};

}  // namespace

at::Tensor with_score_network(const ScoreNetworkInputs& in) {
  const ScoreNetwork& net = in.network;
  GradientRecorder recorder(
      "attention/score_network",
      {in.scores, in.bias, net.first_weight, net.first_bias, net.second_weight, net.second_bias});
  const auto state = std::make_shared<ScoreNetworkState>(ScoreNetworkState{
      .scores = in.scores.detach(),
      .bias = in.bias.defined() ? in.bias.detach() : at::Tensor(),
      .past = in.past,
      .first = {.weight = net.first_weight.detach(), .bias = net.first_bias.detach()},
      .second = {.weight = net.second_weight.detach(), .bias = net.second_bias.detach()},
      .slope = net.slope});
  const at::Tensor result =
      state->bias.defined() ? state->scores + state->bias : state->scores.clone();
  for (const auto& rows : state->all_rows()) {
    const at::Tensor hidden =
        at::leaky_relu(state->first.forward(state->channels(rows)), state->slope);
    result[rows.text].narrow(1, rows.row, rows.count).add_(state->second.forward(hidden));
  }
  return recorder.finish(result, [state](const Gradients& gradients) -> Gradients {
    const at::Tensor& slopes = gradients[0];
    const auto zeros = [](const PairLayer& layer) {
      return PairLayer{.weight = at::zeros_like(layer.weight), .bias = at::zeros_like(layer.bias)};
    };
    const PairLayer to_first = zeros(state->first), to_second = zeros(state->second);
    const at::Tensor to_scores = slopes.clone(at::MemoryFormat::Contiguous);
    const at::Tensor to_bias = state->bias.defined() ? slopes.sum(0) : at::Tensor();
    const std::int64_t heads = slopes.size(1);
    for (const auto& rows : state->all_rows()) {
      const at::Tensor channels = state->channels(rows);
      const at::Tensor before = state->first.forward(channels);
      const at::Tensor own = slopes[rows.text].narrow(1, rows.row, rows.count);
      at::Tensor back =
          state->second.backward(at::leaky_relu(before, state->slope), own, to_second);
      back = at::where(before > 0, back, back * state->slope);
      back = state->visible(state->first.backward(channels, back, to_first), rows);
      to_scores[rows.text].narrow(1, rows.row, rows.count).add_(back.narrow(0, 0, heads));
      if (to_bias.defined()) {
        to_bias.narrow(1, rows.row, rows.count).add_(back.narrow(0, heads, heads));
      }
    }
    return {to_scores, to_bias, to_first.weight, to_first.bias, to_second.weight, to_second.bias};
  });
}

}  // namespace roformer
