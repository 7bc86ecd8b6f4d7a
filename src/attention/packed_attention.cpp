#include "attention/packed_attention.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/repeat_interleave.h>
#include <c10/core/GradMode.h>

#include <optional>
#include <tuple>
#include <vector>

#include "attention/packed_rotation.h"
#include "tensor/gpu/driver.h"
#include "tensor/loops.h"

namespace roformer {
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

// The table of each token's position in its own text, [T, width / 2].
template <class TableOf>
at::Tensor for_tokens(const TokenLayout& layout, const TableOf& table_of) {
  std::vector<at::Tensor> parts;
  for (const TokenBlock& block : layout.blocks) {
    const at::Tensor& table = table_of(block.length);
    parts.push_back(table.expand({block.sequences, block.length, table.size(1)}).flatten(0, 1));
  }
  return at::cat(parts, 0);
}

Rotation rotation_of_tokens(const FusedAttentionInputs& in, Rotation RotationPair::*side) {
  // One length: our own kernel goes through its table text by text.
  if (in.layout.blocks.size() == 1 && form_of(in.projected) == Form::gpu_kernels) {
    return (*in.rotation(in.layout.longest)).*side;
  }
  std::vector<Rotation> tables;
  for (const TokenBlock& block : in.layout.blocks) {
    tables.push_back((*in.rotation(block.length)).*side);
  }
  const auto spread = [&](at::Tensor Rotation::*part) {
    std::size_t next = 0;
    return for_tokens(in.layout,
                      [&](std::int64_t) -> const at::Tensor& { return tables[next++].*part; });
  };
  return {.cosine = spread(&Rotation::cosine),
          .sine = spread(&Rotation::sine),
          .layout = tables.front().layout};
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
  std::optional<PackedRotation> rotation;
  if (const auto first = in.rotation(in.layout.blocks.front().length)) {
    const bool alike = first->query.cosine.is_same(first->key.cosine);
    const Rotation of_query = rotation_of_tokens(in, &RotationPair::query);
    rotation = {.query = of_query,
                .key = alike ? of_query : rotation_of_tokens(in, &RotationPair::key),
                .value = first->value};
  }
  const QueryKeyValue heads = biased_and_rotated(
      {.projected = in.projected, .bias = in.bias, .heads = in.heads, .key_value_heads = shared},
      rotation);
  if (has_cudnn_kernel(in)) {
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
