#include "attention/fused_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"

namespace roformer {
namespace {

struct Block {
  TokenBlock tokens;
  std::optional<RotationPair> rotation;
  at::Tensor additive;   // detached, broadcast to [1, H, L, L]
  at::Tensor output;     // [B, H, L, D]
  at::Tensor logarithm;  // [B, H, L] log of the softmax's denominator
};

struct State {
  at::Tensor projected;  // [T, 3HD], biased and rotated
  std::int64_t heads = 0, head_width = 0;
  double scale = 1;
  bool causal = false;
  std::vector<Block> blocks;
  std::vector<bool> bias_wanted;

  // Part 0, 1, 2: q, k, v of a block as [B, H, L, D].
  at::Tensor part(const at::Tensor& packed, const Block& block, std::int64_t which) const {
    return packed.narrow(0, block.tokens.begin, block.tokens.sequences * block.tokens.length)
        .view({block.tokens.sequences, block.tokens.length, 3, heads, head_width})
        .select(2, which)
        .transpose(1, 2);
  }
};

bool same_rotation(const Rotation& a, const Rotation& b) {
  return a.cosine.is_same(b.cosine);
}

// Adds the bias to a block's rows and rotates q and k (and v) in place.
void prepare(const State& state, const Block& block, const at::Tensor& bias) {
  const std::int64_t width = state.heads * state.head_width, row = 3 * width;
  const auto pass = [&](std::int64_t first, std::int64_t parts, const Rotation* rotation) {
    const std::int64_t offset = block.tokens.begin * row + first * width;
    rotate_rows({.source = state.projected,
                 .source_offset = offset,
                 .source_row = row,
                 .source_head = state.head_width,
                 .destination = state.projected,
                 .destination_offset = offset,
                 .destination_row = row,
                 .destination_head = state.head_width,
                 .tokens = block.tokens.sequences * block.tokens.length,
                 .heads = parts * state.heads,
                 .width = state.head_width,
                 .bias = bias.narrow(0, first * width, parts * width),
                 .rotation = rotation});
  };
  if (!block.rotation) return pass(0, 3, nullptr);
  const RotationPair& pair = *block.rotation;
  if (same_rotation(pair.query, pair.key)) {
    pass(0, pair.value ? 3 : 2, &pair.query);
  } else {
    pass(0, 1, &pair.query);
    pass(1, pair.value ? 2 : 1, &pair.key);
  }
  if (!pair.value) pass(2, 1, nullptr);
}

// Rotates the gradient of one part back and stores it among the packed gradients.
void pack_gradient(const State& state, const Block& block, const at::Tensor& gradient,
                   std::int64_t which, const at::Tensor& packed) {
  const std::int64_t width = state.heads * state.head_width, row = 3 * width;
  const at::Tensor source = gradient.stride(-1) == 1 ? gradient : gradient.contiguous();
  const Rotation* rotation = nullptr;
  if (block.rotation && (which < 2 || block.rotation->value)) {
    rotation = which == 0 ? &block.rotation->query : &block.rotation->key;
  }
  const auto pass = [&](std::int64_t sequence, std::int64_t tokens) {
    rotate_rows({.source = source,
                 .source_offset = sequence * source.stride(0),
                 .source_row = source.stride(2),
                 .source_head = source.stride(1),
                 .destination = packed,
                 .destination_offset =
                     (block.tokens.begin + sequence * block.tokens.length) * row + which * width,
                 .destination_row = row,
                 .destination_head = state.head_width,
                 .tokens = tokens,
                 .heads = state.heads,
                 .width = state.head_width,
                 .rotation = rotation,
                 .inverse = true});
  };
  // LibTorch lays its gradients out as [B, L, H, D]: then the block's tokens follow each other.
  if (source.stride(0) == source.stride(2) * block.tokens.length) {
    pass(0, block.tokens.sequences * block.tokens.length);
  } else {
    for (std::int64_t b = 0; b < block.tokens.sequences; ++b) pass(b, block.tokens.length);
  }
}

// Gradients of one block with the gradient of its bias, heads by heads: the probabilities come back
// from the logarithm of their denominator.
std::tuple<at::Tensor, at::Tensor, at::Tensor> with_bias_gradient(const State& state,
                                                                  const Block& block,
                                                                  const at::Tensor& output_gradient,
                                                                  const at::Tensor& bias_gradient) {
  const at::Tensor query = state.part(state.projected, block, 0);
  const at::Tensor key = state.part(state.projected, block, 1);
  const at::Tensor value = state.part(state.projected, block, 2);
  const auto empty = [&] {
    return at::empty({block.tokens.sequences, block.tokens.length, state.heads, state.head_width},
                     query.options())
        .transpose(1, 2);
  };
  at::Tensor to_query = empty(), to_key = empty(), to_value = empty();
  constexpr std::int64_t kNumbers = std::int64_t{1} << 22;  // scores held at a time
  const std::int64_t length = block.tokens.length;
  const std::int64_t step = std::clamp<std::int64_t>(kNumbers / (length * length), 1, state.heads);
  const at::ScalarType narrow = query.scalar_type(), wide = accumulate_type(narrow);
  for (std::int64_t b = 0; b < block.tokens.sequences; ++b) {
    for (std::int64_t h = 0; h < state.heads; h += step) {
      const std::int64_t n = std::min(step, state.heads - h);
      const auto cut = [&](const at::Tensor& x) { return x.select(0, b).narrow(0, h, n); };
      const at::Tensor q = cut(query), k = cut(key), v = cut(value), g = cut(output_gradient);
      at::Tensor probabilities = at::bmm(q.to(wide), k.to(wide).transpose(1, 2)).mul_(state.scale);
      probabilities.add_(block.additive.select(0, 0).narrow(0, h, n));
      probabilities.sub_(cut(block.logarithm).unsqueeze(-1)).exp_();
      at::Tensor slope = at::bmm(g.to(wide), v.to(wide).transpose(1, 2));
      slope.sub_((g.to(wide) * cut(block.output)).sum(-1, true)).mul_(probabilities);
      bias_gradient.select(0, 0).narrow(0, h, n).add_(slope);
      slope = slope.mul_(state.scale).to(narrow);
      cut(to_query).copy_(at::bmm(slope, k));
      cut(to_key).copy_(at::bmm(slope.transpose(1, 2), q));
      cut(to_value).copy_(at::bmm(probabilities.to(narrow).transpose(1, 2), g));
    }
  }
  return {to_query, to_key, to_value};
}

Gradients backward(const State& state, const at::Tensor& gradient,
                   const std::vector<at::Tensor>& additives) {
  const at::Tensor packed = at::empty(state.projected.sizes(), state.projected.options());
  Gradients result(2);
  for (std::size_t i = 0; i < state.blocks.size(); ++i) {
    const Block& block = state.blocks[i];
    const std::int64_t tokens = block.tokens.sequences * block.tokens.length;
    const at::Tensor output_gradient =
        gradient.narrow(0, block.tokens.begin, tokens)
            .reshape({block.tokens.sequences, block.tokens.length, state.heads, state.head_width})
            .transpose(1, 2);
    at::Tensor q, k, v;
    at::Tensor bias_gradient;
    if (state.bias_wanted[i]) {
      bias_gradient = at::zeros_like(block.additive);
      std::tie(q, k, v) = with_bias_gradient(state, block, output_gradient, bias_gradient);
      if (additives[i].size(1) == 1) bias_gradient = bias_gradient.sum(1, true);
    } else {
      std::optional<at::Tensor> mask;
      if (block.additive.defined()) mask = block.additive;
      std::tie(q, k, v) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          output_gradient, state.part(state.projected, block, 0),
          state.part(state.projected, block, 1), state.part(state.projected, block, 2),
          block.output, block.logarithm, /*dropout_p=*/0.0, state.causal && !mask, mask,
          state.scale);
    }
    pack_gradient(state, block, q, 0, packed);
    pack_gradient(state, block, k, 1, packed);
    pack_gradient(state, block, v, 2, packed);
    result.push_back(bias_gradient);
  }
  result[0] = packed;
  result[1] = packed.sum(0, false, accumulate_type(packed.scalar_type()));
  return result;
}

}  // namespace

at::Tensor fused_attention(const FusedAttentionInputs& inputs) {
  std::vector<at::Tensor> additives;  // with their graphs
  for (const TokenBlock& tokens : inputs.layout.blocks) {
    additives.push_back(inputs.additive(tokens.length));
  }
  std::vector<at::Tensor> recorded{inputs.projected, inputs.bias};
  recorded.insert(recorded.end(), additives.begin(), additives.end());
  GradientRecorder recorder(std::move(recorded));

  auto state = std::make_shared<State>();
  state->projected = inputs.projected.detach();
  state->heads = inputs.heads;
  state->head_width = inputs.projected.size(1) / (3 * inputs.heads);
  state->scale = inputs.scale;
  state->causal = inputs.causal;
  const at::Tensor bias =
      inputs.bias.detach().to(accumulate_type(state->projected.scalar_type())).contiguous();
  at::Tensor output;
  for (std::size_t i = 0; i < inputs.layout.blocks.size(); ++i) {
    Block block{.tokens = inputs.layout.blocks[i],
                .rotation = inputs.rotation(inputs.layout.blocks[i].length)};
    const std::int64_t tokens = block.tokens.sequences * block.tokens.length;
    std::optional<at::Tensor> mask;
    if (additives[i].defined()) {
      block.additive =
          additives[i].detach().expand({1, inputs.heads, block.tokens.length, block.tokens.length});
      mask = block.additive;
    }
    state->bias_wanted.push_back(recorder.wanted(i + 2));
    prepare(*state, block, bias);
    std::tie(block.output, block.logarithm) = at::_scaled_dot_product_flash_attention_for_cpu(
        state->part(state->projected, block, 0), state->part(state->projected, block, 1),
        state->part(state->projected, block, 2), /*dropout_p=*/0.0, inputs.causal && !mask, mask,
        inputs.scale);
    const at::Tensor flat =
        block.output.transpose(1, 2).reshape({tokens, inputs.heads * state->head_width});
    if (inputs.layout.blocks.size() == 1) {
      output = flat;
    } else {
      if (!output.defined()) {
        output = at::empty({inputs.layout.tokens, flat.size(1)}, flat.options());
      }
      output.narrow(0, block.tokens.begin, tokens).copy_(flat);
    }
    if (recorder.wanted()) state->blocks.push_back(std::move(block));
  }
  return recorder.finish(output, [state, additives](const Gradients& gradients) {
    return backward(*state, gradients[0], additives);
  });
}

}  // namespace roformer
