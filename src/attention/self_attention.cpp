#include "attention/self_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/cat.h>

#include <optional>

#include "attention/attend.h"
#include "attention/fused_attention.h"
#include "attention/linear_attention.h"
#include "base/error.h"
#include "tensor/dispatch.h"

namespace roformer {
namespace {

bool can_fuse(const SelfAttentionInputs& in, const PositionSession& session) {
  return in.projected.is_cpu() && !session.scheme(in.layer).has_content_scores() &&
         !session.scheme(in.layer).has_value_term() && in.dropout.probability == 0 &&
         session.attention(in.layer).log_n == LogNScaling::none &&
         session.attention(in.layer).kernel == AttentionKernel::softmax;
}

// q, k and v of a block, [B, H, L, D].
struct Parts {
  at::Tensor query, key, value;
};

Parts parts_of(const at::Tensor& packed, const TokenBlock& block, std::int64_t heads) {
  const auto parts =
      packed.narrow(0, block.begin, block.sequences * block.length)
          .view({block.sequences, block.length, 3, heads, packed.size(1) / (3 * heads)})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  return {.query = parts[0], .key = parts[1], .value = parts[2]};
}

at::Tensor by_features(const SelfAttentionInputs& in, PositionSession& session, const Parts& parts,
                       const AttentionContext& context) {
  // In 8 bits of mantissa a sum over the keys would stand still long before the text ends.
  const at::ScalarType type = parts.value.scalar_type(), wide = accumulate_type(type);
  const LinearFeatures features =
      linear_features({.query = parts.query.to(wide),
                       .key = parts.key.to(wide),
                       .scheme = session.scheme(in.layer),
                       .attention = session.attention(in.layer),
                       .context = context,
                       .matrix = session.feature_matrix(in.layer, parts.query.size(-1))});
  return linear_attention(features, parts.value.to(wide), session.causal()).to(type);
}

at::Tensor by_scores(const SelfAttentionInputs& in, PositionSession& session, const Parts& parts,
                     const TokenBlock& block, AttentionContext context) {
  const Extent extent = Extent::square(parts.query.size(2));
  context.projections = in.projections;
  context.mask = session.mask(in.layer, extent);
  DropoutSpec dropout = in.dropout;
  dropout.first_row = block.begin * in.heads;  // each token has a row for each head
  return attend({.query = parts.query,
                 .key = parts.key,
                 .value = parts.value,
                 .scheme = session.scheme(in.layer),
                 .attention = session.attention(in.layer),
                 .context = context,
                 .bias = session.bias(in.layer, extent),
                 .dropout = dropout})
      .output;
}

at::Tensor block_by_block(const SelfAttentionInputs& in, PositionSession& session) {
  const at::Tensor biased = in.projected + in.bias.to(in.projected.scalar_type());
  const bool softmax = session.attention(in.layer).kernel == AttentionKernel::softmax;
  std::vector<at::Tensor> outputs;
  for (const TokenBlock& block : in.layout.blocks) {
    const Parts parts = parts_of(biased, block, in.heads);
    const AttentionContext context = session.context(in.layer, Extent::square(block.length));
    const at::Tensor attended = softmax ? by_scores(in, session, parts, block, context)
                                        : by_features(in, session, parts, context);
    outputs.push_back(
        attended.transpose(1, 2).reshape({block.sequences * block.length, biased.size(1) / 3}));
  }
  return outputs.size() == 1 ? outputs[0] : at::cat(outputs, 0);
}

// With the sums of the text so far.
at::Tensor by_state(const SelfAttentionInputs& in, PositionSession& session, AttentionCache& cache,
                    const Parts& parts) {
  AttentionCache::Linear& layer = cache.linear(in.layer);
  if (!layer.matrix.defined()) {
    layer.matrix = session.feature_matrix(in.layer, parts.query.size(-1));
  }
  AttentionContext context = session.context(in.layer, session.whole());
  context.keys = context.queries;
  return layer.state.append({.query = parts.query,
                             .key = parts.key,
                             .scheme = session.scheme(in.layer),
                             .attention = session.attention(in.layer),
                             .context = context,
                             .matrix = layer.matrix},
                            parts.value);
}

// With the keys and values of the text so far.
at::Tensor by_cache(const SelfAttentionInputs& in, PositionSession& session, AttentionCache& cache,
                    const Parts& parts) {
  const PositionScheme& scheme = session.scheme(in.layer);
  AttentionContext context = session.context(in.layer, session.whole());
  AttentionContext added = context;  // a key is rotated at its own position
  added.keys = context.queries;
  const KeyValue all =
      cache.append(in.layer, to_cache(scheme, added, {.key = parts.key, .value = parts.value}));
  if (can_fuse(in, session) && scheme.cached_keys() == CachedKeys::rotated) {
    const std::int64_t head_width = parts.query.size(-1);
    const auto rotation = scheme.rotation(context, head_width);
    std::optional<at::Tensor> mask;
    if (const at::Tensor additive = session.additive(in.layer, session.whole());
        additive.defined()) {
      mask = additive.to(parts.query.scalar_type());
    }
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
        rotation ? rotated(parts.query, rotation->query) : parts.query, all.key, all.value,
        /*dropout_p=*/0.0, /*is_causal=*/session.causal() && !mask && parts.query.size(2) > 1, mask,
        scheme.score_scale(head_width)));
  }
  context.projections = in.projections;
  context.mask = session.mask(in.layer, session.whole());
  return attend({.query = parts.query,
                 .key = all.key,
                 .value = all.value,
                 .scheme = scheme,
                 .attention = session.attention(in.layer),
                 .context = context,
                 .bias = session.bias(in.layer, session.whole()),
                 .keys = scheme.cached_keys()})
      .output;
}

}  // namespace

at::Tensor self_attention(const SelfAttentionInputs& in, PositionSession& session) {
  if (!can_fuse(in, session)) return block_by_block(in, session);
  const std::int64_t head_width = in.projected.size(1) / (3 * in.heads);
  return fused_attention({.projected = in.projected,
                          .bias = in.bias,
                          .layout = in.layout,
                          .heads = in.heads,
                          .scale = session.scheme(in.layer).score_scale(head_width),
                          .causal = session.causal(),
                          .rotation =
                              [&](std::int64_t length) {
                                return session.scheme(in.layer).rotation(
                                    session.context(in.layer, Extent::square(length)), head_width);
                              },
                          .additive =
                              [&](std::int64_t length) {
                                return session.additive(in.layer, Extent::square(length));
                              }});
}

at::Tensor cached_self_attention(const SelfAttentionInputs& in, PositionSession& session,
                                 AttentionCache& cache) {
  ROFORMER_ASSERT(session.causal() && in.layout.blocks.size() == 1 && in.dropout.probability == 0);
  const at::Tensor biased = in.projected + in.bias.to(in.projected.scalar_type());
  const Parts parts = parts_of(biased, in.layout.blocks[0], in.heads);
  const bool softmax = session.attention(in.layer).kernel == AttentionKernel::softmax;
  const at::Tensor output =
      softmax ? by_cache(in, session, cache, parts) : by_state(in, session, cache, parts);
  return output.transpose(1, 2).reshape({in.layout.tokens, biased.size(1) / 3});
}

}  // namespace roformer
