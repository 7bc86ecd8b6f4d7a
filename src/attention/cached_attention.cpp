#include "attention/cached_attention.h"

#include <ATen/TensorOperators.h>

#include "base/error.h"

namespace roformer {

CachedAttention::CachedAttention(const CachedAttentionInputs& in)
    : scheme_(in.scheme), attention_(in.attention), cache_(in.cache) {
  ROFORMER_ASSERT(in.attention.kernel == AttentionKernel::softmax);
  cache_.begin_step(in.positions);
  place_ = {.queries = in.positions,
            .keys = cache_.positions(),
            .causal = true,
            .type = in.type,
            .device = in.device};
  at::Tensor mask = scheme_.mask(place_);
  const auto hide = [&](const at::Tensor& more) {
    mask = mask.defined() ? mask.logical_and(more) : more;
  };
  if (attention_.window > 0) {
    hide(window_mask(place_.queries, place_.keys, attention_.window, /*causal=*/true));
  }
  // One query, the last, sees every key.
  if (in.positions.count() > 1) hide(causal_mask(place_.queries, place_.keys));
  if (mask.defined()) place_.mask = mask.to(in.device);
}

at::Tensor CachedAttention::bias(const AttentionPlace& place) {
  if (!scheme_.has_bias()) return {};
  at::Tensor& made = biases_[scheme_.bias_of_each_layer() ? place.layer : -1];
  if (!made.defined()) made = scheme_.bias(place);
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
  AttentionPlace place = place_;
  place.layer = in.layer;
  place.projections = in.projections;
  AttentionPlace added = place;  // a key is turned at its own place
  added.keys = place.queries;
  const KeyValue all =
      cache_.append(in.layer, to_cache(scheme_, added, {.key = parts[1], .value = parts[2]}));
  const at::Tensor output = roformer::attend({.query = parts[0],
                                              .key = all.key,
                                              .value = all.value,
                                              .scheme = scheme_,
                                              .attention = attention_,
                                              .place = place,
                                              .bias = bias(place),
                                              .keys = scheme_.cached_keys()})
                                .output;
  return output.transpose(1, 2).reshape({in.layout.tokens, in.heads * head_width});
}

}  // namespace roformer
