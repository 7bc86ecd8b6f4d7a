#include "attention/sdpa_attention.h"

#include <ATen/core/grad_mode.h>

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "attention/explicit_scores.h"
#include "tensor/aten.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/tiled_attention.h"
#include "tensor/token_layout.h"

namespace roformer {

at::Tensor sdpa_attention(const SdpaInputs& in) {
  const bool causal = in.causal && !in.additive.defined() && in.query.size(2) > 1;
  if (const FewQueryAttention few{.query = in.query,
                                  .key = in.key,
                                  .value = in.value,
                                  .additive = in.additive,
                                  .scale = in.scale};
      !causal && can_attend_few(few)) {
    return attend_few(few);
  }
  const auto mask_of = [&](at::ScalarType type) {
    return in.additive.defined() ? std::optional(in.additive.to(type)) : std::nullopt;
  };
  // The kernels' backward passes compute the gradient of the scores from the output: a rounded
  // output loses the small gradient at a nearly certain key (tensor/cpu/attention_tile.h).
  const bool loops = runs_loops(in.query);
  const bool learns =
      at::GradMode::is_enabled() &&
      (in.query.requires_grad() || in.key.requires_grad() || in.value.requires_grad());
  const at::ScalarType type = in.query.scalar_type();
  const at::ScalarType used = learns && (loops || in.exact_gradient) ? accumulate_type(type) : type;
  note_attention(AttentionUse::libtorch, in.query, /*rounded=*/used != accumulate_type(type));
  if (!loops) {
    return at::scaled_dot_product_attention(in.query.to(used), in.key.to(used), in.value.to(used),
                                            mask_of(used), /*dropout_p=*/0.0, causal, in.scale)
        .to(type);
  }
  return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
                         in.query.to(used), in.key.to(used), in.value.to(used),
                         /*dropout_p=*/0.0, causal, mask_of(used), in.scale))
      .to(type);
}

namespace {

constexpr std::int64_t kRows = 128;                      // queries of a block
constexpr std::int64_t kScores = std::int64_t{1} << 22;  // held at a time

struct RowBlocks {
  at::Tensor query, key, value, sums, mask;
  at::Tensor future;  // without a mask: bool [kRows, kRows], true where a key is after its query
  double scale = 1;

  std::vector<TextBlock> all() const {
    const std::int64_t heads = query.size(1), length = query.size(2);
    return text_blocks(query.size(0), length, kRows, heads * length, kScores);
  }

  // scale q.k + c_i - c_j, -infinity where hidden, [texts, H, rows, keys] in the accumulating type.
  at::Tensor scores(const TextBlock& block) const {
    const at::Tensor scores =
        wide_product(block.rows_of(query), block.seen_of(key).transpose(-2, -1)).mul_(scale);
    const at::Tensor from_first =
        (block.seen_of(sums) - block.rows_of(sums).narrow(2, 0, 1)).to(scores.scalar_type());
    scores.add_(from_first.narrow(2, block.row, block.rows).unsqueeze(-1));
    scores.sub_(from_first.unsqueeze(-2));
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (mask.defined()) {
      const at::Tensor visible =
          mask.narrow(0, block.row, block.rows).narrow(1, 0, block.row + block.rows);
      scores.masked_fill_(visible.logical_not(), kHidden);
    } else {
      scores.narrow(3, block.row, block.rows)
          .masked_fill_(future.narrow(0, 0, block.rows).narrow(1, 0, block.rows), kHidden);
    }
    return scores;
  }

  // From the logarithm of the denominators [texts, H, rows].
  at::Tensor probabilities(const TextBlock& block, const at::Tensor& logarithm) const {
    return scores(block).sub_(logarithm.unsqueeze(-1)).exp_();
  }
};

}  // namespace

at::Tensor running_sum_attention(const RunningSumInputs& in) {
  note_attention(AttentionUse::running_sums, in.query);
  GradientRecorder recorder("attention/running_sums", {in.query, in.key, in.value, in.sums});
  const auto blocks = std::make_shared<RowBlocks>(RowBlocks{.query = in.query.detach(),
                                                            .key = in.key.detach(),
                                                            .value = in.value.detach(),
                                                            .sums = in.sums.detach(),
                                                            .mask = in.mask,
                                                            .scale = in.scale});
  if (!in.mask.defined()) {
    blocks->future = at::ones({kRows, kRows}, in.query.options().dtype(at::kBool)).triu(1);
  }
  const at::ScalarType type = in.value.scalar_type(), wide = accumulate_type(type);
  const at::Tensor output = at::empty_like(blocks->value);
  const at::Tensor logarithm =
      at::zeros({output.size(0), output.size(1), output.size(2)}, output.options().dtype(wide));
  for (const TextBlock& block : blocks->all()) {
    const at::Tensor scores = blocks->scores(block);
    // A row without visible keys: every probability is then exp(-infinity).
    const at::Tensor sum = at::logsumexp(scores, -1);
    const at::Tensor finite = sum.masked_fill(sum.isinf(), 0);
    block.rows_of(logarithm).copy_(finite);
    const at::Tensor probabilities = (scores - finite.unsqueeze(-1)).exp_();
    block.rows_of(output).copy_(at::matmul(probabilities.to(type), block.seen_of(blocks->value)));
  }
  return recorder.finish(
      output, [blocks, logarithm, type](const Gradients& gradients) -> Gradients {
        const auto zeros = [&](const at::Tensor& x) {
          return at::zeros(x.sizes(), x.options().dtype(accumulate_type(x.scalar_type())));
        };
        const at::Tensor to_query = at::empty_like(blocks->query), to_key = zeros(blocks->key),
                         to_value = zeros(blocks->value), to_sums = zeros(blocks->sums);
        for (const TextBlock& block : blocks->all()) {
          const at::Tensor g = block.rows_of(gradients[0]), key = block.seen_of(blocks->key);
          const at::Tensor probabilities = blocks->probabilities(block, block.rows_of(logarithm));
          block.seen_of(to_value).add_(at::matmul(probabilities.to(type).transpose(-2, -1), g));
          const at::Tensor slope = wide_product(g, block.seen_of(blocks->value).transpose(-2, -1));
          // Sums over the rows themselves; output times gradient would carry bfloat16's rounding
          // errors, which accumulate along the running sums.
          slope.sub_((slope * probabilities).sum(-1, true)).mul_(probabilities);
          // Gradients of a row's scores sum to zero because probabilities sum to one, so only the
          // column sums contribute.
          block.seen_of(to_sums).sub_(slope.sum(-2));
          const at::Tensor narrow = slope.mul_(blocks->scale).to(type);
          block.rows_of(to_query).copy_(at::matmul(narrow, key));
          block.seen_of(to_key).add_(
              at::matmul(narrow.transpose(-2, -1), block.rows_of(blocks->query)));
        }
        return {to_query, to_key.to(type), to_value.to(type), to_sums};
      });
}

}  // namespace roformer
