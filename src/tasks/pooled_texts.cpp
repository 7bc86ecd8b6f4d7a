#include "tasks/pooled_texts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <utility>
#include <vector>

#include "attention/linear_attention.h"
#include "data/length_batches.h"
#include "tasks/task_model.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// The number of tokens in a batch that is only computed. The outputs do not depend on it.
constexpr std::int64_t kPredictionTokens = 2048;

// The mean over each text's tokens, states [T, M] -> [B, M]. It is a product with a matrix of
// shares, so its sums have the same order on every device.
at::Tensor mean_states(const at::Tensor& states, const std::vector<std::int64_t>& lengths) {
  const auto texts = static_cast<std::int64_t>(lengths.size());
  const at::Tensor shares = at::zeros({texts, states.size(0)}, at::kFloat);
  std::int64_t begin = 0;
  for (std::int64_t text = 0; text < texts; ++text) {
    const std::int64_t length = lengths[static_cast<std::size_t>(text)];
    shares.select(0, text).narrow(0, begin, length).fill_(1 / static_cast<double>(length));
    begin += length;
  }
  return at::mm(on_device(shares, states.device()), states.to(at::kFloat));
}

}  // namespace

at::Tensor pooled_states(const PooledEncoder& encoder, const TextBatch& batch,
                         const ForwardMode& mode) {
  const TransformerStack& stack = encoder.stack;
  const ComputePlan& plan = encoder.plan;
  const TokenLayout layout = TokenLayout::of_lengths(batch.lengths);
  std::vector<std::int64_t> firsts;
  std::int64_t begin = 0;
  for (const std::int64_t length : batch.lengths) {
    firsts.push_back(begin);
    begin += length;
  }
  const std::uint64_t features =
      mode.training ? favor_key(stack.settings().attention, encoder.parameters.seed(), mode.step)
                    : 0;
  const bool typed = stack.settings().model.token_types > 1;
  const bool first = encoder.pooling == TextPooling::first;
  const at::Tensor states =
      stack.forward({.ids = copy_to(batch.ids, plan.device),
                     .token_types = typed ? copy_to(batch.types, plan.device) : at::Tensor(),
                     .layout = layout,
                     .rows = first ? copy_to(firsts, plan.device) : at::Tensor(),
                     .training = mode.training,
                     .dropout_key = mode.key,
                     .feature_key = features,
                     .precision = plan.precision});
  return first ? states : mean_states(states, batch.lengths);
}

at::Tensor outputs_of_texts(std::span<const EncodedText> texts, std::int64_t columns,
                            const ComputeTexts& compute, Processes& processes,
                            const WorkProgress& progress) {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  const LengthBuckets buckets(std::move(lengths),
                              {.tokens = kPredictionTokens, .bucket_width = 1, .shuffle = false});
  const c10::AutoGradMode no_gradient(false);
  at::Tensor result = at::zeros({static_cast<std::int64_t>(texts.size()), columns}, at::kFloat);
  for_own_batches(
      processes, buckets.batches_per_epoch(),
      [&](std::int64_t n) {
        const BucketBatch chosen = buckets[n];
        TextBatch batch;
        for (const std::int64_t text : chosen.sequences) {
          append(texts[static_cast<std::size_t>(text)], batch);
        }
        const at::Tensor outputs = compute(batch).to(at::kCPU, at::kFloat);
        result.index_copy_(0, copy_to(chosen.sequences, at::kCPU), outputs);
      },
      progress);
  processes.begin_sum(result)->wait();  // each process fills its own rows; the others are zero
  return result;
}

}  // namespace roformer
