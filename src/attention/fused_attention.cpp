#include "attention/fused_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/operations.h"
#include "tensor/tiled_attention.h"

namespace roformer {
namespace {

struct Block {
  TokenBlock tokens;
  std::optional<RotationPair> rotation;
};

struct State {
  at::Tensor projected;  // [T, (H + 2G)D], biased and rotated
  std::vector<Block> blocks;
  TiledAttention attention;  // over views of `projected`
  at::Tensor output;         // [T, HD]
  at::Tensor logarithm;      // [H, T] of the softmax's denominator
  std::vector<bool> bias_wanted;

  std::int64_t heads() const { return attention.heads; }
  std::int64_t key_value_heads() const { return attention.key_value_heads; }
  std::int64_t head_width() const { return projected.size(1) / (heads() + 2 * key_value_heads()); }
  // The first head of part 0, 1, 2 (q, k, v), and the number of all heads.
  std::int64_t heads_before(std::int64_t part) const {
    return part == 0 ? 0 : heads() + (part - 1) * key_value_heads();
  }
  // q as [T, HD], k and v as [T, GD].
  at::Tensor part(const at::Tensor& packed, std::int64_t which) const {
    const std::int64_t begin = heads_before(which), end = heads_before(which + 1);
    return packed.narrow(1, begin * head_width(), (end - begin) * head_width());
  }
};

bool of_differences(const at::Tensor& additive) {
  return additive.dim() == 2;
}

bool same_rotation(const Rotation& a, const Rotation& b) {
  return a.cosine.is_same(b.cosine);
}

// Calls pass(first part, parts, rotation) for neighbouring parts with the same rotation.
template <typename Pass>
void for_parts(const std::optional<RotationPair>& pair, const Pass& pass) {
  if (!pair) return pass(0, 3, nullptr);
  if (same_rotation(pair->query, pair->key)) {
    pass(0, pair->value ? 3 : 2, &pair->query);
  } else {
    pass(0, 1, &pair->query);
    pass(1, pair->value ? 2 : 1, &pair->key);
  }
  if (!pair->value) pass(2, 1, nullptr);
}

// A block's rows of `packed`, in place.
RotationRows rows_of(const State& state, const at::Tensor& packed, const TokenBlock& tokens,
                     std::int64_t first, std::int64_t parts, const Rotation* rotation) {
  const std::int64_t row = packed.size(1), before = state.heads_before(first);
  const std::int64_t offset = tokens.begin * row + before * state.head_width();
  return {.source = packed,
          .source_offset = offset,
          .source_row = row,
          .source_head = state.head_width(),
          .destination = packed,
          .destination_offset = offset,
          .destination_row = row,
          .destination_head = state.head_width(),
          .tokens = tokens.sequences * tokens.length,
          .heads = state.heads_before(first + parts) - before,
          .width = state.head_width(),
          .rotation = rotation};
}

// Adds the bias to a block's rows and rotates q and k (and v) in place.
void prepare(const State& state, const Block& block, const at::Tensor& bias) {
  const std::int64_t width = state.head_width();
  for_parts(block.rotation, [&](std::int64_t first, std::int64_t parts, const Rotation* rotation) {
    if (rotation == nullptr && !bias.defined()) return;
    RotationRows rows = rows_of(state, state.projected, block.tokens, first, parts, rotation);
    if (bias.defined()) {
      rows.bias = bias.narrow(0, state.heads_before(first) * width, rows.heads * width);
    }
    rotate_rows(rows);
  });
}

// Rotates the gradients of a block's q and k (and v) back in place.
void rotate_back(const State& state, const Block& block, const at::Tensor& packed) {
  for_parts(block.rotation, [&](std::int64_t first, std::int64_t parts, const Rotation* rotation) {
    if (rotation == nullptr) return;
    RotationRows rows = rows_of(state, packed, block.tokens, first, parts, rotation);
    rows.inverse = true;
    rotate_rows(rows);
  });
}

// Gradients of keys or values [T, HD], one for each head of queries, summed over those that share
// a head of them: [T, GD].
void store_shared(const State& state, const at::Tensor& of_each, const at::Tensor& result) {
  const std::int64_t shared = state.key_value_heads();
  const at::Tensor sums = of_each.unflatten(1, {shared, state.heads() / shared, state.head_width()})
                              .sum(2, false, accumulate_type(of_each.scalar_type()));
  result.copy_(sums.flatten(1));
}

Gradients backward(const State& state, const at::Tensor& gradient,
                   const std::vector<at::Tensor>& additives, bool biased) {
  const at::Tensor packed = at::empty(state.projected.sizes(), state.projected.options());
  const bool shares = state.key_value_heads() != state.heads();
  const auto part_of = [&](std::int64_t which) {
    return shares ? at::empty(state.output.sizes(), state.output.options())
                  : state.part(packed, which);
  };
  TiledAttentionGradients results{
      .query = state.part(packed, 0), .key = part_of(1), .value = part_of(2)};
  for (std::size_t i = 0; i < additives.size(); ++i) {
    results.additive.emplace_back();
    if (!state.bias_wanted[i]) continue;
    std::vector<std::int64_t> sizes = state.attention.additive[i].sizes().vec();
    sizes[0] = state.heads();
    results.additive.back() = at::zeros(sizes, state.logarithm.options());
  }
  if (state.attention.sums.defined()) {
    results.sums = at::empty_like(state.attention.sums, at::MemoryFormat::Contiguous);
  }
  tiled_attention_backward(state.attention, state.output, state.logarithm, gradient.contiguous(),
                           results);
  if (shares) {
    store_shared(state, results.key, state.part(packed, 1));
    store_shared(state, results.value, state.part(packed, 2));
  }
  for (const Block& block : state.blocks) rotate_back(state, block, packed);
  Gradients all{packed, biased ? column_sums(packed) : at::Tensor()};
  for (std::size_t i = 0; i < additives.size(); ++i) {
    at::Tensor& wanted = results.additive[i];
    if (wanted.defined()) {
      if (state.attention.additive[i].size(0) == 1) wanted = wanted.sum(0, true);
      wanted = wanted.view(additives[i].sizes()).to(additives[i].scalar_type());
    }
    all.push_back(wanted);
  }
  if (results.sums.defined()) all.push_back(results.sums);
  return all;
}

}  // namespace

at::Tensor fused_attention(const FusedAttentionInputs& inputs) {
  std::vector<at::Tensor> additives;  // with their graphs
  for (const TokenBlock& tokens : inputs.layout.blocks) {
    additives.push_back(inputs.additive(tokens.length));
  }
  std::vector<at::Tensor> recorded{inputs.projected, inputs.bias};
  recorded.insert(recorded.end(), additives.begin(), additives.end());
  if (inputs.sums.defined()) recorded.push_back(inputs.sums);
  GradientRecorder recorder("attention/self", std::move(recorded));

  auto state = std::make_shared<State>();
  state->projected = inputs.projected.detach();
  const at::ScalarType wide = accumulate_type(state->projected.scalar_type());
  state->attention = {
      .heads = inputs.heads, .key_value_heads = inputs.key_value_heads, .scale = inputs.scale};
  state->attention.query = state->part(state->projected, 0);
  state->attention.key = state->part(state->projected, 1);
  state->attention.value = state->part(state->projected, 2);
  if (inputs.sums.defined()) state->attention.sums = inputs.sums.detach().contiguous();
  at::Tensor bias;
  if (inputs.bias.defined()) bias = inputs.bias.detach().to(wide).contiguous();
  for (std::size_t i = 0; i < inputs.layout.blocks.size(); ++i) {
    const TokenBlock& tokens = inputs.layout.blocks[i];
    const bool biased = additives[i].defined();
    if (biased) {
      const at::Tensor added = additives[i].detach().to(wide);
      state->attention.additive.push_back(of_differences(added) ? added : added.squeeze(0));
    }
    for (std::int64_t s = 0; s < tokens.sequences; ++s) {
      const std::int64_t begin = tokens.begin + s * tokens.length;
      state->attention.segments.push_back({.query_begin = begin,
                                           .query_length = tokens.length,
                                           .key_begin = begin,
                                           .key_length = tokens.length,
                                           .additive = biased ? static_cast<std::int64_t>(i) : -1});
    }
    state->bias_wanted.push_back(recorder.wanted(i + 2));
    state->blocks.push_back({.tokens = tokens, .rotation = inputs.rotation(tokens.length)});
    prepare(*state, state->blocks.back(), bias);
  }
  // The additive term for all pairs already hides future keys.
  state->attention.causal = inputs.causal && (state->attention.additive.empty() ||
                                              of_differences(state->attention.additive[0]));
  const at::Tensor output =
      at::empty({inputs.layout.tokens, state->attention.query.size(1)}, state->projected.options());
  state->output = output.detach();
  state->logarithm = tiled_attention_forward(state->attention, output);
  return recorder.finish(output,
                         [state, additives, biased = bias.defined()](const Gradients& gradients) {
                           return backward(*state, gradients[0], additives, biased);
                         });
}

}  // namespace roformer
