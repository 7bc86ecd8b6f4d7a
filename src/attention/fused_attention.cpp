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
  at::Tensor projected;  // [T, (H + 2G)D], biased and rotated
  std::int64_t heads = 0, key_value_heads = 0, head_width = 0;
  double scale = 1;
  bool causal = false;
  bool biased = false;
  std::vector<Block> blocks;
  std::vector<bool> bias_wanted;

  // Of part 0, 1, 2, which are q, k, v.
  std::int64_t heads_of(std::int64_t which) const { return which == 0 ? heads : key_value_heads; }
  std::int64_t first_head_of(std::int64_t which) const {
    return which == 0 ? 0 : heads + (which - 1) * key_value_heads;
  }
  std::int64_t row() const { return (heads + 2 * key_value_heads) * head_width; }

  // A part of a block as [B, its heads, L, D].
  at::Tensor part(const at::Tensor& packed, const Block& block, std::int64_t which) const {
    return packed.narrow(0, block.tokens.begin, block.tokens.sequences * block.tokens.length)
        .view({block.tokens.sequences, block.tokens.length, -1, head_width})
        .narrow(2, first_head_of(which), heads_of(which))
        .transpose(1, 2);
  }
};

bool same_rotation(const Rotation& a, const Rotation& b) {
  return a.cosine.is_same(b.cosine);
}

// Adds the bias to a block's rows and rotates q and k (and v) in place.
void prepare(const State& state, const Block& block, const at::Tensor& bias) {
  const std::int64_t row = state.row(), head = state.head_width;
  const auto pass = [&](std::int64_t first, std::int64_t parts, const Rotation* rotation) {
    const std::int64_t first_head = state.first_head_of(first);
    const std::int64_t heads = state.first_head_of(first + parts) - first_head;
    const std::int64_t offset = block.tokens.begin * row + first_head * head;
    rotate_rows({.source = state.projected,
                 .source_offset = offset,
                 .source_row = row,
                 .source_head = state.head_width,
                 .destination = state.projected,
                 .destination_offset = offset,
                 .destination_row = row,
                 .destination_head = state.head_width,
                 .tokens = block.tokens.sequences * block.tokens.length,
                 .heads = heads,
                 .width = head,
                 .bias = bias.defined() ? bias.narrow(0, first_head * head, heads * head) : bias,
                 .rotation = rotation});
  };
  if (!block.rotation) {
    if (bias.defined()) pass(0, 3, nullptr);
    return;
  }
  const RotationPair& pair = *block.rotation;
  if (same_rotation(pair.query, pair.key)) {
    pass(0, pair.value ? 3 : 2, &pair.query);
  } else {
    pass(0, 1, &pair.query);
    pass(1, pair.value ? 2 : 1, &pair.key);
  }
  if (!pair.value && bias.defined()) pass(2, 1, nullptr);
}

// Rotates the gradient of one part back and stores it among the packed gradients.
void pack_gradient(const State& state, const Block& block, const at::Tensor& gradient,
                   std::int64_t which, const at::Tensor& packed) {
  const std::int64_t row = state.row(), first = state.first_head_of(which) * state.head_width;
  const at::Tensor source = gradient.stride(-1) == 1 ? gradient : gradient.contiguous();
  const Rotation* rotation = nullptr;
  if (block.rotation && (which < 2 || block.rotation->value)) {
    rotation = which == 0 ? &block.rotation->query : &block.rotation->key;
  }
  const auto pass = [&](std::int64_t sequence, std::int64_t tokens) {
    rotate_rows(
        {.source = source,
         .source_offset = sequence * source.stride(0),
         .source_row = source.stride(2),
         .source_head = source.stride(1),
         .destination = packed,
         .destination_offset = (block.tokens.begin + sequence * block.tokens.length) * row + first,
         .destination_row = row,
         .destination_head = state.head_width,
         .tokens = tokens,
         .heads = state.heads_of(which),
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
  const auto empty = [&](std::int64_t heads) {
    return at::empty({block.tokens.sequences, block.tokens.length, heads, state.head_width},
                     query.options())
        .transpose(1, 2);
  };
  at::Tensor to_query = empty(state.heads);
  at::Tensor to_key = empty(state.key_value_heads), to_value = empty(state.key_value_heads);
  constexpr std::int64_t kNumbers = std::int64_t{1} << 22;  // scores held at a time
  const std::int64_t length = block.tokens.length;
  // The heads of queries that share one of keys and values are taken at once.
  const std::int64_t sharing = state.heads / state.key_value_heads;
  const std::int64_t step =
      sharing > 1 ? sharing
                  : std::clamp<std::int64_t>(kNumbers / (length * length), 1, state.heads);
  const at::ScalarType narrow = query.scalar_type(), wide = accumulate_type(narrow);
  for (std::int64_t b = 0; b < block.tokens.sequences; ++b) {
    for (std::int64_t h = 0; h < state.heads; h += step) {
      const std::int64_t n = std::min(step, state.heads - h);
      const auto cut = [&](const at::Tensor& x) { return x.select(0, b).narrow(0, h, n); };
      const auto cut_shared = [&](const at::Tensor& x) {
        return sharing == 1 ? cut(x) : x.select(0, b).narrow(0, h / sharing, 1).expand({n, -1, -1});
      };
      const auto store_shared = [&](const at::Tensor& place, const at::Tensor& gradient) {
        if (sharing == 1) {
          cut(place).copy_(gradient);
        } else {
          place.select(0, b).select(0, h / sharing).copy_(gradient.sum(0));
        }
      };
      const at::Tensor q = cut(query), g = cut(output_gradient);
      const at::Tensor k = cut_shared(key), v = cut_shared(value);
      at::Tensor probabilities = at::bmm(q.to(wide), k.to(wide).transpose(1, 2)).mul_(state.scale);
      probabilities.add_(block.additive.select(0, 0).narrow(0, h, n));
      probabilities.sub_(cut(block.logarithm).unsqueeze(-1)).exp_();
      at::Tensor slope = at::bmm(g.to(wide), v.to(wide).transpose(1, 2));
      slope.sub_((g.to(wide) * cut(block.output)).sum(-1, true)).mul_(probabilities);
      bias_gradient.select(0, 0).narrow(0, h, n).add_(slope);
      slope = slope.mul_(state.scale).to(narrow);
      cut(to_query).copy_(at::bmm(slope, k));
      store_shared(to_key, at::bmm(slope.transpose(1, 2), q));
      store_shared(to_value, at::bmm(probabilities.to(narrow).transpose(1, 2), g));
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
  if (state.biased) result[1] = packed.sum(0, false, accumulate_type(packed.scalar_type()));
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
  state->key_value_heads = inputs.key_value_heads;
  state->head_width = inputs.projected.size(1) / (inputs.heads + 2 * inputs.key_value_heads);
  state->scale = inputs.scale;
  state->causal = inputs.causal;
  state->biased = inputs.bias.defined();
  at::Tensor bias;
  if (state->biased) {
    bias = inputs.bias.detach().to(accumulate_type(state->projected.scalar_type())).contiguous();
  }
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
