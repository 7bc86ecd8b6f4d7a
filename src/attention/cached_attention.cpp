#include "attention/cached_attention.h"

#include <ATen/TensorOperators.h>

#include "base/error.h"

namespace roformer {

CachedAttention::CachedAttention(const CachedAttentionInputs& in)
    : scheme_(in.scheme), attention_(in.attention), cache_(in.cache) {
  ROFORMER_ASSERT(in.attention.kernel == AttentionKernel::softmax);
  cache_.begin_step(in.positions);
  context_ = {.queries = in.positions,
              .keys = cache_.positions(),
              .causal = true,
              .type = in.type,
              .device = in.device};
  at::Tensor mask = scheme_.mask(context_);
  const auto hide = [&](const at::Tensor& more) {
    mask = mask.defined() ? mask.logical_and(more) : more;
  };
  if (attention_.window > 0) {
    hide(window_mask(context_.queries, context_.keys, attention_.window, /*causal=*/true));
  }
  // One query, the last, sees every key.
  if (in.positions.count() > 1) hide(causal_mask(context_.queries, context_.keys));
  if (mask.defined()) context_.mask = mask.to(in.device);
}

at::Tensor CachedAttention::bias(const AttentionContext& context) {
  if (!scheme_.has_bias()) return {};
  at::Tensor& made = biases_[scheme_.bias_of_each_layer() ? context.layer : -1];
  if (!made.defined()) made = scheme_.bias(context);
  return made;
}

at::Tensor CachedAttention::attend(const SelfAttentionInputs& in) {
  ROFORMER_ASSERT(in.layout.blocks.size() == 1 && in.dropout.probability == 0);
  const TokenBlock& block = in.layout.blocks[0];
  const std::int64_t head_width = in.projected.size(1) / (3 * in.heads);
  const auto parts = (in.projected + in.bias.to(in.projected.scalar_type()))
                         .view({block.sequences, block.length, 3, in.heads, head_width})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  AttentionContext context = context_;
  context.layer = in.layer;
  context.projections = in.projections;
  AttentionContext added = context;  // a key is rotated at its own position
  added.keys = context.queries;
  const KeyValue all =
      cache_.append(in.layer, to_cache(scheme_, added, {.key = parts[1], .value = parts[2]}));
  const at::Tensor output = roformer::attend({.query = parts[0],
                                              .key = all.key,
                                              .value = all.value,
                                              .scheme = scheme_,
                                              .attention = attention_,
                                              .context = context,
                                              .bias = bias(context),
                                              .keys = scheme_.cached_keys()})
                                .output;
  return output.transpose(1, 2).reshape({in.layout.tokens, in.heads * head_width});
}

}  // namespace roformer
