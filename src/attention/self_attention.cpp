#include "attention/self_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "attention/attend.h"
#include "attention/fused_attention.h"
#include "attention/linear_attention.h"

namespace roformer {
namespace {

bool can_fuse(const SelfAttentionInputs& in, const PositionSession& session) {
  return in.projected.is_cpu() && !session.scheme().has_content_scores() &&
         !session.scheme().has_value_term() && in.dropout.probability == 0 &&
         session.attention().log_n == LogNScaling::none &&
         session.attention().kernel == AttentionKernel::softmax;
}

// q, k and v of a block, [B, H, L, D].
struct Parts {
  at::Tensor query, key, value;
};

at::Tensor by_features(const SelfAttentionInputs& in, PositionSession& session, const Parts& parts,
                       AttentionPlace place) {
  place.causal = session.causal();
  const LinearFeatures features =
      linear_features({.query = parts.query,
                       .key = parts.key,
                       .scheme = session.scheme(),
                       .attention = session.attention(),
                       .place = place,
                       .matrix = session.feature_matrix(in.layer, parts.query.size(-1))});
  return linear_attention(features, parts.value, session.causal());
}

at::Tensor by_scores(const SelfAttentionInputs& in, PositionSession& session, const Parts& parts,
                     const TokenBlock& block, AttentionPlace place) {
  const std::int64_t length = parts.query.size(2);
  place.projections = in.projections;
  DropoutSpec dropout = in.dropout;
  dropout.first_row = block.begin * in.heads;  // each token has a row for each head
  place.mask = session.extra_mask(length);
  if (!place.mask.defined() && session.causal()) {
    place.mask = causal_mask(place.queries, place.keys).to(place.device);
  }
  return attend({.query = parts.query,
                 .key = parts.key,
                 .value = parts.value,
                 .scheme = session.scheme(),
                 .attention = session.attention(),
                 .place = place,
                 .bias = session.bias(in.layer, length),
                 .dropout = dropout})
      .output;
}

at::Tensor block_by_block(const SelfAttentionInputs& in, PositionSession& session) {
  const at::Tensor biased = in.projected + in.bias.to(in.projected.scalar_type());
  const std::int64_t head_width = biased.size(1) / (3 * in.heads);
  const bool softmax = session.attention().kernel == AttentionKernel::softmax;
  std::vector<at::Tensor> outputs;
  for (const TokenBlock& block : in.layout.blocks) {
    const auto all = biased.narrow(0, block.begin, block.sequences * block.length)
                         .view({block.sequences, block.length, 3, in.heads, head_width})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
    const Parts parts{.query = all[0], .key = all[1], .value = all[2]};
    const AttentionPlace place = session.place(in.layer, block.length);
    const at::Tensor attended = softmax ? by_scores(in, session, parts, block, place)
                                        : by_features(in, session, parts, place);
    outputs.push_back(
        attended.transpose(1, 2).reshape({block.sequences * block.length, in.heads * head_width}));
  }
  return outputs.size() == 1 ? outputs[0] : at::cat(outputs, 0);
}

}  // namespace

at::Tensor self_attention(const SelfAttentionInputs& in, PositionSession& session) {
  if (!can_fuse(in, session)) return block_by_block(in, session);
  const std::int64_t head_width = in.projected.size(1) / (3 * in.heads);
  return fused_attention(
      {.projected = in.projected,
       .bias = in.bias,
       .layout = in.layout,
       .heads = in.heads,
       .scale = session.scheme().score_scale(head_width),
       .causal = session.causal(),
       .turn =
           [&](std::int64_t length) {
             return session.scheme().turn(session.place(in.layer, length), head_width);
           },
       .additive = [&](std::int64_t length) { return session.additive(in.layer, length); }});
}

}  // namespace roformer
