#include "attention/self_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "attention/attend.h"
#include "attention/fused_attention.h"

namespace roformer {
namespace {

bool can_fuse(const SelfAttentionInputs& in, const PositionSession& session) {
  return in.projected.is_cpu() && !session.scheme().has_content_scores() &&
         !session.scheme().has_value_term() && in.dropout.probability == 0 &&
         session.attention().log_n == LogNScaling::none &&
         session.attention().kernel == AttentionKernel::softmax;
}

at::Tensor block_by_block(const SelfAttentionInputs& in, PositionSession& session) {
  const at::Tensor biased = in.projected + in.bias.to(in.projected.scalar_type());
  const std::int64_t head_width = biased.size(1) / (3 * in.heads);
  std::vector<at::Tensor> outputs;
  for (const TokenBlock& block : in.layout.blocks) {
    const auto parts = biased.narrow(0, block.begin, block.sequences * block.length)
                           .view({block.sequences, block.length, 3, in.heads, head_width})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    AttentionPlace place = session.place(in.layer, block.length);
    place.projections = in.projections;
    place.mask = session.extra_mask(block.length);
    if (!place.mask.defined() && session.causal()) {
      place.mask = causal_mask(place.queries, place.keys).to(place.device);
    }
    const at::Tensor attended = attend({.query = parts[0],
                                        .key = parts[1],
                                        .value = parts[2],
                                        .scheme = session.scheme(),
                                        .attention = session.attention(),
                                        .place = place,
                                        .bias = session.bias(in.layer, block.length),
                                        .dropout = in.dropout})
                                    .output;
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
