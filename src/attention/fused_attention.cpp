#include "attention/fused_attention.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <c10/core/GradMode.h>

#include <memory>
#include <tuple>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/driver.h"
#include "tensor/gradient.h"
#include "tensor/operations.h"
#include "tensor/tiled_attention.h"

namespace roformer {
namespace {

struct State {
  PackedHeads heads;  // biased and rotated
  std::vector<TokenBlock> blocks;
  std::vector<std::optional<RotationPair>> rotations;  // of each block
  TiledAttention attention;                            // over views of heads.projected
  at::Tensor output;                                   // [T, HD]
  at::Tensor logarithm;                                // [H, T] of the softmax's denominator
  std::vector<bool> bias_wanted;
  std::vector<bool> table_wanted;  // of each relative term

  // A block's rows of a tensor like heads.projected.
  static at::Tensor rows_of(const TokenBlock& block, const at::Tensor& packed) {
    return packed.narrow(0, block.begin, block.sequences * block.length);
  }
};

bool of_differences(const at::Tensor& additive) {
  return additive.dim() == 2;
}

// Gradients of keys or values [T, HD], one for each head of queries, summed over those that share
// a head of them: [T, GD].
void store_shared(const PackedHeads& heads, const at::Tensor& of_each, const at::Tensor& result) {
  const std::int64_t shared = heads.key_value_heads;
  const at::Tensor sums = of_each.unflatten(1, {shared, heads.heads / shared, heads.head_width()})
                              .sum(2, false, accumulate_type(of_each.scalar_type()));
  result.copy_(sums.flatten(1));
}

Gradients backward(const State& state, const at::Tensor& gradient,
                   const std::vector<at::Tensor>& additives, bool biased) {
  const PackedHeads& heads = state.heads;
  const at::Tensor packed = at::empty(heads.projected.sizes(), heads.projected.options());
  const bool shares = heads.key_value_heads != heads.heads;
  const auto part_of = [&](std::int64_t which) {
    return shares ? at::empty(state.output.sizes(), state.output.options())
                  : heads.part(packed, which);
  };
  TiledAttentionGradients results{
      .query = heads.part(packed, 0), .key = part_of(1), .value = part_of(2)};
  for (std::size_t i = 0; i < additives.size(); ++i) {
    results.additive.emplace_back();
    if (!state.bias_wanted[i]) continue;
    std::vector<std::int64_t> sizes = state.attention.additive[i].sizes().vec();
    sizes[0] = heads.heads;
    results.additive.back() = at::zeros(sizes, state.logarithm.options());
  }
  if (state.attention.sums.defined()) {
    results.sums = at::empty_like(state.attention.sums, at::MemoryFormat::Contiguous);
  }
  bool any_table = false;
  for (std::size_t i = 0; i < state.table_wanted.size(); ++i) {
    results.relative.emplace_back();
    if (!state.table_wanted[i]) continue;
    results.relative.back() =
        at::zeros(state.attention.relative[i].table.sizes(), state.logarithm.options());
    any_table = true;
  }
  if (!any_table) results.relative.clear();
  tiled_attention_backward(state.attention, state.output, state.logarithm, gradient.contiguous(),
                           results);
  if (shares) {
    store_shared(heads, results.key, heads.part(packed, 1));
    store_shared(heads, results.value, heads.part(packed, 2));
  }
  for (std::size_t i = 0; i < state.blocks.size(); ++i) {
    rotate_in_place(heads, State::rows_of(state.blocks[i], packed), {}, state.rotations[i],
                    /*inverse=*/true);
  }
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
  for (std::size_t i = 0; i < state.table_wanted.size(); ++i) {
    all.push_back(state.table_wanted[i]
                      ? results.relative[i].to(state.attention.relative[i].table.scalar_type())
                      : at::Tensor());
  }
  return all;
}

}  // namespace

at::Tensor fused_attention(const FusedAttentionInputs& inputs) {
  std::vector<at::Tensor> additives;  // with their graphs
  for (const BlockTerms& terms : inputs.blocks) additives.push_back(terms.additive);
  std::vector<at::Tensor> recorded{inputs.projected, inputs.bias};
  recorded.insert(recorded.end(), additives.begin(), additives.end());
  if (inputs.sums.defined()) recorded.push_back(inputs.sums);
  const std::size_t before_tables = recorded.size();
  for (const RelativeTerm& term : inputs.relative) recorded.push_back(term.table);
  note_attention(AttentionUse::tiles, inputs.projected);
  GradientRecorder recorder("attention/self", std::move(recorded));

  auto state = std::make_shared<State>();
  state->heads = {.projected = inputs.projected.detach(),
                  .heads = inputs.heads,
                  .key_value_heads = inputs.key_value_heads};
  const PackedHeads& heads = state->heads;
  const at::ScalarType wide = accumulate_type(heads.projected.scalar_type());
  state->attention = {.query = heads.part(heads.projected, 0),
                      .key = heads.part(heads.projected, 1),
                      .value = heads.part(heads.projected, 2),
                      .heads = inputs.heads,
                      .key_value_heads = inputs.key_value_heads,
                      .scale = inputs.scale};
  if (inputs.sums.defined()) state->attention.sums = inputs.sums.detach().contiguous();
  for (std::size_t i = 0; i < inputs.relative.size(); ++i) {
    state->attention.relative.push_back(inputs.relative[i]);
    state->attention.relative.back().table = inputs.relative[i].table.detach();
    state->table_wanted.push_back(recorder.wanted(before_tables + i));
  }
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
    state->blocks.push_back(tokens);
    state->rotations.push_back(inputs.blocks[i].rotation);
    rotate_in_place(heads, State::rows_of(tokens, heads.projected), bias, state->rotations.back());
  }
  // The additive term for all pairs already hides future keys.
  state->attention.causal = inputs.causal && (state->attention.additive.empty() ||
                                              of_differences(state->attention.additive[0]));
  const at::Tensor output =
      at::empty({inputs.layout.tokens, state->attention.query.size(1)}, heads.projected.options());
  state->output = output.detach();
  state->logarithm = tiled_attention_forward(state->attention, output);
  return recorder.finish(output,
                         [state, additives, biased = bias.defined()](const Gradients& gradients) {
                           return backward(*state, gradients[0], additives, biased);
                         });
}

namespace {

// The kernel that LibTorch itself would choose for one text of these tokens. cuDNN's kernel and the
// flash kernel require the same GPUs.
bool has_flash_kernel(const at::Tensor& projected, std::int64_t head_width) {
  const at::Tensor head = projected.detach().narrow(1, 0, head_width).unsqueeze(0).unsqueeze(0);
  const auto choice = static_cast<at::SDPBackend>(at::_fused_sdp_choice(head, head, head));
  return choice == at::SDPBackend::flash_attention || choice == at::SDPBackend::cudnn_attention;
}

// cuDNN's kernel takes 0.7 times as long as the flash kernel (H200, 32 texts of 512 tokens, 12
// heads of 64: 100 and 262 us forward and backward where that takes 133 and 385). It spends 50 ms
// planning for every new number or length of texts and has no deterministic mode here, so it is
// used only for texts of one length.
bool has_cudnn_kernel(const FusedAttentionInputs& in) {
  constexpr long kVersion = 91500;  // from which LibTorch itself prefers it on those GPUs
  constexpr int kHopper = 90;
  constexpr std::int64_t kLengths = 64;
  const at::Device device = in.projected.device();
  return device.is_cuda() && in.layout.blocks.size() == 1 && in.layout.longest % kLengths == 0 &&
         !at::globalContext().deterministicAlgorithms() && at::Context::hasCuDNN() &&
         at::Context::versionRuntimeCuDNN() > kVersion &&
         gpu::compute_capability(device) == kHopper;
}

// Texts of one length, [T, N, D], as [B, N, L, D].
at::Tensor by_text(const at::Tensor& heads, const TokenLayout& layout) {
  return heads.unflatten(0, {layout.blocks[0].sequences, layout.longest}).transpose(1, 2);
}

// The table with a row for each token, [T, width / 2], of its position in its own text.
Rotation rotation_of_tokens(const FusedAttentionInputs& in, Rotation RotationPair::*side) {
  // One length: our own kernel goes through its table text by text.
  if (in.layout.blocks.size() == 1 && form_of(in.projected) == Form::gpu_kernels) {
    return (*in.blocks[0].rotation).*side;
  }
  const auto spread = [&](at::Tensor Rotation::*part) {
    std::vector<at::Tensor> rows;
    for (std::size_t i = 0; i < in.blocks.size(); ++i) {
      const TokenBlock& block = in.layout.blocks[i];
      const at::Tensor& table = ((*in.blocks[i].rotation).*side).*part;
      rows.push_back(table.expand({block.sequences, block.length, table.size(1)}).flatten(0, 1));
    }
    return at::cat(rows, 0);
  };
  return {.cosine = spread(&Rotation::cosine),
          .sine = spread(&Rotation::sine),
          .layout = ((*in.blocks[0].rotation).*side).layout};
}

}  // namespace

bool can_pack_attention(const at::Tensor& projected, std::int64_t head_width) {
  constexpr std::int64_t kWidest = 128, kMultiple = 8;
  if (projected.is_cpu() || projected.scalar_type() != at::kBFloat16) return false;
  if (head_width > kWidest || head_width % kMultiple != 0) return false;
  return !projected.is_cuda() || has_flash_kernel(projected, head_width);
}

at::Tensor packed_attention(const FusedAttentionInputs& in) {
  const std::int64_t shared = in.key_value_heads > 0 ? in.key_value_heads : in.heads;
  std::optional<RotationPair> rotation;
  if (const auto& first = in.blocks.front().rotation) {
    const bool alike = first->query.cosine.is_same(first->key.cosine);
    const Rotation of_query = rotation_of_tokens(in, &RotationPair::query);
    rotation = {.query = of_query,
                .key = alike ? of_query : rotation_of_tokens(in, &RotationPair::key),
                .value = first->value};
  }
  const QueryKeyValue heads = biased_and_rotated(
      {.projected = in.projected, .bias = in.bias, .heads = in.heads, .key_value_heads = shared},
      rotation);
  const bool cudnn = has_cudnn_kernel(in);
  note_attention(cudnn ? AttentionUse::cudnn : AttentionUse::flash, in.projected, /*rounded=*/true);
  if (cudnn) {
    const auto each = [&](const at::Tensor& x) {
      const at::Tensor texts = by_text(x, in.layout);
      return x.size(1) == in.heads ? texts : texts.repeat_interleave(in.heads / shared, 1);
    };
    const at::Tensor output = std::get<0>(at::_scaled_dot_product_cudnn_attention(
        each(heads.query), each(heads.key), each(heads.value), /*attn_bias=*/{},
        /*compute_log_sumexp=*/heads.query.requires_grad() && at::GradMode::is_enabled(),
        /*dropout_p=*/0.0, in.causal, /*return_debug_mask=*/false, in.scale));
    return output.transpose(1, 2).reshape({in.layout.tokens, -1});
  }
  const at::Tensor output = std::get<0>(at::_flash_attention_forward(
      heads.query, heads.key, heads.value, in.text_starts, in.text_starts, in.layout.longest,
      in.layout.longest,
      /*dropout_p=*/0.0, in.causal, /*return_debug_mask=*/false, in.scale));
  return output.reshape({in.layout.tokens, -1});
}

}  // namespace roformer
