// A causal stack with rope written out with LibTorch's plain operations, token by token of equally
// long texts: what the fused one is held against. B texts, L length, M width, H heads, G heads of
// keys and values, D head width.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <string>

#include "config/schemes/rope.h"
#include "model/transformer_stack.h"

namespace roformer {

class PlainStack {
 public:
  // `parameter` gives the tensor of that name, or an undefined one.
  using Lookup = std::function<at::Tensor(const std::string& name)>;
  PlainStack(const StackSettings& settings, Lookup parameter)
      : settings_(settings), model_(settings_.model), parameter_(std::move(parameter)) {}

  // ids [B, L] -> [B, L, M]
  at::Tensor forward(const at::Tensor& ids) const {
    const bool pre = model_.norm == NormPlacement::pre;
    at::Tensor sum = at::embedding(parameter_("embedding.tokens.weight"), ids);
    if (!pre || model_.embedding_norm) sum = normed(sum, "embedding.norm");
    for (std::int64_t i = 0; i < model_.layers; ++i) {
      const std::string layer = "layers." + std::to_string(i) + ".";
      const std::string attention = layer + "attention", feed_forward = layer + "feed_forward";
      if (!pre) {
        sum = normed(sum + attend(sum, attention), attention + ".norm");
        sum = normed(sum + feed(sum, feed_forward), feed_forward + ".norm");
        continue;
      }
      const bool bare = i == 0 && !model_.first_norm;
      const at::Tensor attended = attend(bare ? sum : normed(sum, attention + ".norm"), attention);
      const at::Tensor between = sum + attended;
      const at::Tensor& read = model_.parallel_residual ? sum : between;
      sum = between + feed(normed(read, feed_forward + ".norm"), feed_forward);
    }
    return pre ? normed(sum, "final_norm") : sum;
  }

 private:
  const StackSettings& settings_;
  const ModelSettings& model_;
  Lookup parameter_;

  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    const at::Tensor bias = parameter_(name + ".bias");
    const at::Tensor product = at::matmul(x, parameter_(name + ".weight").t());
    return bias.defined() ? product + bias : product;
  }
  at::Tensor root_mean_square(const at::Tensor& x, const at::Tensor& gain) const {
    return x / at::sqrt((x * x).mean(-1, true) + model_.norm_epsilon) * gain;
  }
  at::Tensor normed(const at::Tensor& x, const std::string& name) const {
    const at::Tensor gain = parameter_(name + ".weight"), shift = parameter_(name + ".bias");
    if (model_.norm_kind == NormKind::rms_norm) return root_mean_square(x, gain);
    const at::Tensor centred = x - x.mean(-1, true);
    const at::Tensor result = root_mean_square(centred, gain);
    return shift.defined() ? result + shift : result;
  }
  at::Tensor feed(const at::Tensor& x, const std::string& name) const {
    const at::Tensor inner = linear(x, name + ".inner");
    at::Tensor active;
    if (model_.activation == ActivationKind::swiglu) {
      const auto halves = inner.chunk(2, -1);
      active = halves[0] * at::sigmoid(halves[0]) * halves[1];
    } else if (model_.activation == ActivationKind::geglu) {
      const auto halves = inner.chunk(2, -1);
      active = at::gelu(halves[0]) * halves[1];
    } else if (model_.activation == ActivationKind::geglu_tanh) {
      const auto halves = inner.chunk(2, -1);
      active = at::gelu(halves[0], "tanh") * halves[1];
    } else {
      active = at::gelu(inner);
    }
    return linear(active, name + ".outer");
  }
  // x [B, N, L, D], neighbours rotated by position * base^(-2i/D).
  static at::Tensor rotated(const at::Tensor& x) {
    const std::int64_t length = x.size(2), width = x.size(3);
    const at::Tensor positions = at::arange(length, at::kDouble).unsqueeze(1);
    const at::Tensor rates = at::pow(10000.0, -at::arange(0, width, 2, at::kDouble) / width);
    const at::Tensor angles = (positions * rates).to(x.scalar_type());
    const auto pairs = x.unflatten(-1, {width / 2, 2}).unbind(-1);
    return at::stack({pairs[0] * angles.cos() - pairs[1] * angles.sin(),
                      pairs[1] * angles.cos() + pairs[0] * angles.sin()},
                     -1)
        .flatten(-2);
  }
  at::Tensor attend(const at::Tensor& x, const std::string& name) const {
    const std::int64_t heads = model_.heads, width = model_.features_of_head();
    const std::int64_t shared = model_.heads_of_keys();
    const auto parts = linear(x, name + ".query_key_value")
                           .split_with_sizes({heads * width, shared * width, shared * width}, -1);
    const auto by_head = [&](const at::Tensor& part) {
      return part.unflatten(-1, {-1, width}).transpose(1, 2);
    };
    at::Tensor query = by_head(parts[0]), key = by_head(parts[1]), value = by_head(parts[2]);
    if (model_.query_key_norm) {
      query = root_mean_square(query, parameter_(name + ".query_norm.weight"));
      key = root_mean_square(key, parameter_(name + ".key_norm.weight"));
    }
    key = rotated(key).repeat_interleave(heads / shared, 1);
    value = value.repeat_interleave(heads / shared, 1);
    at::Tensor scores =
        at::matmul(rotated(query), key.transpose(-2, -1)) / std::sqrt(static_cast<double>(width));
    const at::Tensor future = at::ones({x.size(1), x.size(1)}, at::kBool).triu(1);
    scores = scores.masked_fill(future, -INFINITY);
    const at::Tensor seen = at::matmul(at::softmax(scores, -1), value);
    return linear(seen.transpose(1, 2).flatten(2), name + ".output");
  }
};

}  // namespace roformer
