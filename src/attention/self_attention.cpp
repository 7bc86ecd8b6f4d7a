#include "attention/self_attention.h"

#include <utility>

#include "attention/fused_attention.h"
#include "attention/linear_attention.h"
#include "attention/sdpa_attention.h"
#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"
#include "tensor/tiled_attention.h"

namespace roformer {
namespace {

bool is_softmax(const SelfAttentionInputs& in, const PositionSession& session) {
  return session.attention(in.layer).kernel == AttentionKernel::softmax;
}

// Whether the layer computes a softmax of q.k, fixed biases and running sums, and nothing else.
bool is_plain(const SelfAttentionInputs& in, const PositionSession& session) {
  const SchemeCapabilities capabilities = session.scheme(in.layer).capabilities();
  return capabilities.scores == ContentScores::none && !capabilities.value_term &&
         !capabilities.weights && !capabilities.bias_of_positions && in.dropout.probability == 0 &&
         session.attention(in.layer).log_n == LogNScaling::none;
}

// Whether the layer, on a CPU, computes a softmax of the scheme's scores over all tokens of a text,
// and nothing else: no dropout, window or mask.
bool is_whole(const SelfAttentionInputs& in, PositionSession& session) {
  return runs_loops(in.projected) && in.dropout.probability == 0 &&
         session.attention(in.layer).log_n == LogNScaling::none && session.contiguous() &&
         session.adds_nothing(in.layer) && can_tile_attention(in.projected, in.head_width());
}

}  // namespace

AttentionPath attention_path(const SelfAttentionInputs& in, PositionSession& session) {
  if (!is_softmax(in, session)) return AttentionPath::linear;
  const bool observed = in.observer != nullptr && in.observer->wants(in.layer);
  const SchemeCapabilities capabilities = session.scheme(in.layer).capabilities();
  if (!observed && (capabilities.relative_form || capabilities.attends) && is_whole(in, session)) {
    return capabilities.attends ? AttentionPath::scheme : AttentionPath::tiles;
  }
  if (observed || !is_plain(in, session)) return AttentionPath::scores;
  const bool loops = runs_loops(in.projected);
  const std::int64_t width = in.head_width();
  if (!capabilities.transform) {
    const bool nothing = !capabilities.bias && session.adds_nothing(in.layer);
    if (nothing && !capabilities.running_sums && !session.exact_gradient() &&
        can_pack_attention(in.projected, width)) {
      return AttentionPath::packed;
    }
    const bool sums = !capabilities.running_sums || (loops && nothing);
    if (sums && can_tile_attention(in.projected, width)) return AttentionPath::tiles;
  }
  if (capabilities.running_sums)
    return capabilities.bias ? AttentionPath::scores : AttentionPath::running_sums;
  return !loops || (capabilities.transform && !capabilities.bias) ? AttentionPath::kernel
                                                                  : AttentionPath::scores;
}

AttentionPath cached_attention_path(const SelfAttentionInputs& in, PositionSession& session) {
  if (!is_softmax(in, session)) return AttentionPath::linear;
  const SchemeCapabilities capabilities = session.scheme(in.layer).capabilities();
  const bool kernel = runs_loops(in.projected) && is_plain(in, session) &&
                      capabilities.cached_keys == CachedKeys::rotated && !capabilities.running_sums;
  return kernel ? AttentionPath::kernel : AttentionPath::scores;
}

namespace {

at::Tensor with_bias(const SelfAttentionInputs& in) {
  return in.bias.defined() ? in.projected + in.bias.to(in.projected.scalar_type()) : in.projected;
}

// q [B, H, L, D], k and v [B, G, L, D] of a block.
struct Parts {
  at::Tensor query, key, value;
};

Parts parts_of(const SelfAttentionInputs& in, const at::Tensor& packed, const TokenBlock& block) {
  const std::int64_t shared = in.shared_heads();
  const at::Tensor all = packed.narrow(0, block.begin, block.sequences * block.length)
                             .view({block.sequences, block.length, -1, in.head_width()})
                             .transpose(1, 2);
  // Their gradients are written side by side, not added up from three of the whole size.
  const std::vector<at::Tensor> parts = at::split_with_sizes(all, {in.heads, shared, shared}, 1);
  return {.query = parts[0], .key = parts[1], .value = parts[2]};
}

// [B, G, L, D] -> [B, H, L, D]: repeats each head for the query heads that it serves.
at::Tensor for_each_query_head(const at::Tensor& x, std::int64_t heads) {
  const std::int64_t shared = x.size(1);
  if (shared == heads) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), shared, heads / shared, x.size(2), x.size(3)})
      .flatten(1, 2);
}

Parts for_each_query_head(const Parts& parts) {
  const std::int64_t heads = parts.query.size(1);
  return {.query = parts.query,
          .key = for_each_query_head(parts.key, heads),
          .value = for_each_query_head(parts.value, heads)};
}

at::Tensor by_linear_attention(const SelfAttentionInputs& in, PositionSession& session,
                               const Parts& parts, const AttentionContext& context) {
  return attend_linearly({.query = parts.query,
                          .key = parts.key,
                          .scheme = session.scheme(in.layer),
                          .attention = session.attention(in.layer),
                          .context = context,
                          .matrix = session.feature_matrix(in.layer, parts.query.size(-1))},
                         parts.value, session.causal());
}

// The scheme's inputs for a block's tokens, [B, H, L, F]; undefined where it has none.
at::Tensor token_inputs_of(const SelfAttentionInputs& in, const PositionSession& session,
                           const TokenBlock& block) {
  if (!session.scheme(in.layer).capabilities().token_inputs) return {};
  const at::Tensor input = in.input.narrow(0, block.begin, block.sequences * block.length);
  return session.scheme(in.layer)
      .token_inputs(in.layer, input)
      .view({block.sequences, block.length, in.heads, -1})
      .transpose(1, 2);
}

// The scheme's running sums, [H, T]; undefined where it has none.
at::Tensor sums_of(const SelfAttentionInputs& in, PositionSession& session) {
  const PositionScheme& scheme = session.scheme(in.layer);
  if (!scheme.capabilities().running_sums) return {};
  std::vector<at::Tensor> sums;
  std::int64_t sequences = 0;  // before the block
  for (const TokenBlock& block : in.layout.blocks) {
    AttentionContext context = session.context(
        in.layer, Extent::square(block.length),
        {.first = std::exchange(sequences, sequences + block.sequences), .count = block.sequences});
    context.token_inputs = scheme.cached_token_inputs(token_inputs_of(in, session, block), {});
    sums.push_back(scheme.running_sums(context).transpose(0, 1).flatten(1));
  }
  return sums.size() == 1 ? sums[0] : at::cat(sums, 1);
}

at::Tensor bias_of(const SelfAttentionInputs& in, PositionSession& session,
                   const AttentionContext& context, const Extent& extent) {
  if (session.scheme(in.layer).capabilities().bias_of_positions)
    return session.scheme(in.layer).bias(context);
  return session.bias(in.layer, extent);
}

// Attention over rotated queries and keys, by LibTorch's kernel.
at::Tensor by_kernel(const SelfAttentionInputs& in, PositionSession& session,
                     const AttentionContext& context, const Parts& turned, const Extent& extent) {
  return sdpa_attention({.query = turned.query,
                         .key = turned.key,
                         .value = turned.value,
                         .additive = session.additive(in.layer, extent),
                         .causal = context.causal,
                         .scale = session.scheme(in.layer).score_scale(turned.query.size(-1)),
                         .exact_gradient = session.exact_gradient()});
}

Parts rotated_parts(const PositionScheme& scheme, const AttentionContext& context,
                    const Parts& parts) {
  const KeyValue held = rotated_keys(scheme, context, {.key = parts.key, .value = parts.value});
  return {.query = rotated(scheme, context, parts.query, TokenSide::query),
          .key = held.key,
          .value = held.value};
}

at::Tensor by_running_sums(const SelfAttentionInputs& in, PositionSession& session,
                           const Parts& parts, const AttentionContext& context) {
  const PositionScheme& scheme = session.scheme(in.layer);
  const Extent extent = Extent::square(parts.query.size(2));
  const Parts turned = rotated_parts(scheme, context, parts);
  return running_sum_attention(
      {.query = turned.query,
       .key = turned.key,
       .value = turned.value,
       .sums = scheme.running_sums(context),
       .mask = session.adds_nothing(in.layer) ? at::Tensor() : session.mask(in.layer, extent),
       .scale = scheme.score_scale(parts.query.size(-1))});
}

at::Tensor by_scores(const SelfAttentionInputs& in, PositionSession& session, const Parts& parts,
                     const TokenBlock& block, AttentionContext context,
                     const at::Tensor& token_inputs) {
  const Extent extent = Extent::square(parts.query.size(2));
  context.mask = session.mask(in.layer, extent);
  DropoutSpec dropout = in.dropout;
  // Each token has a row for each head.
  dropout.first_row = (in.layout.first_token + block.begin) * in.heads;
  const AttendInputs inputs{.query = parts.query,
                            .key = parts.key,
                            .value = parts.value,
                            .scheme = session.scheme(in.layer),
                            .attention = session.attention(in.layer),
                            .context = context,
                            .bias = bias_of(in, session, context, extent),
                            .dropout = dropout};
  const bool observed = in.observer != nullptr && in.observer->wants(in.layer);
  return observed ? in.observer->attend(inputs, token_inputs) : attend(inputs).output;
}

at::Tensor by_path(AttentionPath path, const SelfAttentionInputs& in, PositionSession& session,
                   const Parts& parts, const TokenBlock& block, AttentionContext context) {
  if (path == AttentionPath::linear) return by_linear_attention(in, session, parts, context);
  const PositionScheme& scheme = session.scheme(in.layer);
  context.projections = in.projections;
  const at::Tensor token_inputs = token_inputs_of(in, session, block);
  if (token_inputs.defined()) context.token_inputs = scheme.cached_token_inputs(token_inputs, {});
  switch (path) {
    case AttentionPath::scheme:
      note_attention(AttentionUse::tiles, parts.query);
      return scheme.attended(context, parts.query, parts.key, parts.value);
    case AttentionPath::running_sums:
      return by_running_sums(in, session, parts, context);
    case AttentionPath::kernel:
      return by_kernel(in, session, context, rotated_parts(scheme, context, parts),
                       Extent::square(parts.query.size(2)));
    default:
      return by_scores(in, session, parts, block, context, token_inputs);
  }
}

at::Tensor block_by_block(AttentionPath path, const SelfAttentionInputs& in,
                          PositionSession& session) {
  const at::Tensor biased = with_bias(in);
  const std::int64_t width = in.heads * in.head_width();
  std::vector<at::Tensor> outputs;
  std::int64_t sequences = 0;  // before the block
  for (const TokenBlock& block : in.layout.blocks) {
    const Parts parts = for_each_query_head(parts_of(in, biased, block));
    const AttentionContext context = session.context(
        in.layer, Extent::square(block.length),
        {.first = std::exchange(sequences, sequences + block.sequences), .count = block.sequences});
    const at::Tensor attended = by_path(path, in, session, parts, block, context);
    outputs.push_back(attended.transpose(1, 2).reshape({block.sequences * block.length, width}));
  }
  return outputs.size() == 1 ? outputs[0] : at::cat(outputs, 0);
}

// Linear attention with the sums of the text so far.
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

// Softmax attention with the cached keys and values.
at::Tensor by_cache(AttentionPath path, const SelfAttentionInputs& in, PositionSession& session,
                    AttentionCache& cache, const Parts& parts) {
  const PositionScheme& scheme = session.scheme(in.layer);
  const SchemeCapabilities capabilities = scheme.capabilities();
  AttentionContext context = session.context(in.layer, session.whole());
  const AttentionContext added = at_own_positions(context);
  // If every query head transforms its keys differently, the cache stores keys for each query head.
  const bool apart = capabilities.transform || capabilities.changes_keys;
  const Parts held = apart ? for_each_query_head(parts) : parts;
  KeyValue step{.key = held.key, .value = held.value};
  // Keys that every later token changes would be rounded at every token.
  if (capabilities.changes_keys) step.key = step.key.to(accumulate_type(step.key.scalar_type()));
  const std::int64_t length = parts.key.size(2);
  if (capabilities.token_inputs) {
    step.token_inputs =
        scheme.cached_token_inputs(token_inputs_of(in, session, in.layout.blocks[0]),
                                   cache.before(in.layer, length).token_inputs);
  }
  const KeyValue all = cache.append(in.layer, to_cache(scheme, added, std::move(step)));
  context.token_inputs = all.token_inputs;
  if (path == AttentionPath::kernel) {
    return by_kernel(in, session, context,
                     {.query = rotated(scheme, added, parts.query, TokenSide::query),
                      .key = all.key,
                      .value = all.value},
                     session.whole());
  }
  context.projections = in.projections;
  context.mask = session.mask(in.layer, session.whole());
  const at::Tensor output = attend({.query = parts.query,
                                    .key = for_each_query_head(all.key, in.heads),
                                    .value = for_each_query_head(all.value, in.heads),
                                    .scheme = scheme,
                                    .attention = session.attention(in.layer),
                                    .context = context,
                                    .bias = bias_of(in, session, context, session.whole()),
                                    .keys = capabilities.cached_keys})
                                .output;
  if (capabilities.changes_keys) all.key.copy_(scheme.changed_keys(context, all.key));
  return output;
}

// The scheme's terms of relative vectors for the longest text; nothing where it has none.
RelativeForm relative_form_of(const SelfAttentionInputs& in, PositionSession& session) {
  const PositionScheme& scheme = session.scheme(in.layer);
  if (!scheme.capabilities().relative_form) return {};
  AttentionContext context = session.context(in.layer, Extent::square(in.layout.longest));
  context.projections = in.projections;
  return scheme.relative_form(context);
}

// The bias of the projection with a shift [H, D] of the queries.
at::Tensor with_shift(const SelfAttentionInputs& in, const at::Tensor& shift) {
  if (!shift.defined()) return in.bias;
  const at::Tensor all =
      at::constant_pad_nd(shift.flatten().to(accumulate_type(in.projected.scalar_type())),
                          {0, 2 * in.shared_heads() * in.head_width()});
  return in.bias.defined() ? in.bias + all : all;
}

}  // namespace

at::Tensor self_attention(const SelfAttentionInputs& in, PositionSession& session) {
  const AttentionPath path = attention_path(in, session);
  const bool packs = path == AttentionPath::packed;
  if (!packs && path != AttentionPath::tiles) return block_by_block(path, in, session);
  const std::int64_t head_width = in.head_width();
  const at::Tensor sums = sums_of(in, session);
  const bool adds = !packs && !sums.defined();
  RelativeForm relative = relative_form_of(in, session);
  std::vector<BlockTerms> blocks;
  for (const TokenBlock& block : in.layout.blocks) {
    blocks.push_back({.rotation = session.rotation(in.layer, block.length, head_width)});
    if (!adds) continue;
    const Extent extent = Extent::square(block.length);
    at::Tensor& additive = blocks.back().additive;
    if (relative.bias.defined()) {
      additive = relative.bias.narrow(1, in.layout.longest - block.length, 2 * block.length - 1);
      continue;
    }
    additive = session.additive_of_differences(in.layer, extent);
    if (!additive.defined()) additive = session.additive(in.layer, extent);
  }
  const FusedAttentionInputs inputs{
      .projected = in.projected,
      .bias = with_shift(in, relative.query_shift),
      .layout = in.layout,
      .heads = in.heads,
      .key_value_heads = in.shared_heads(),
      .scale = session.scheme(in.layer).score_scale(head_width),
      .causal = session.causal(),
      .blocks = std::move(blocks),
      .sums = sums,
      .relative = std::move(relative.terms),
      .text_starts = packs ? session.text_starts(in.layout) : at::Tensor()};
  return packs ? packed_attention(inputs) : fused_attention(inputs);
}

at::Tensor cached_self_attention(const SelfAttentionInputs& in, PositionSession& session,
                                 AttentionCache& cache) {
  ROFORMER_ASSERT(session.causal() && in.layout.blocks.size() == 1 && in.dropout.probability == 0);
  const Parts parts = parts_of(in, with_bias(in), in.layout.blocks[0]);
  const AttentionPath path = cached_attention_path(in, session);
  const at::Tensor output = path == AttentionPath::linear
                                ? by_state(in, session, cache, for_each_query_head(parts))
                                : by_cache(path, in, session, cache, parts);
  return output.transpose(1, 2).reshape({in.layout.tokens, in.heads * in.head_width()});
}

}  // namespace roformer
