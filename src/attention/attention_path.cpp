#include "attention/attention_path.h"

#include "attention/packed_attention.h"
#include "tensor/loops.h"
#include "tensor/tiled_attention.h"

namespace roformer {
namespace {

bool is_softmax(const SelfAttentionInputs& in, const PositionSession& session) {
  return session.attention(in.layer).kernel == AttentionKernel::softmax;
}

// Whether a softmax of q.k, fixed biases and running sums is all there is.
bool is_plain(const SelfAttentionInputs& in, const PositionSession& session) {
  const SchemeCapabilities capabilities = session.scheme(in.layer).capabilities();
  return capabilities.scores == ContentScores::none && !capabilities.value_term &&
         !capabilities.weights && !capabilities.bias_of_positions && in.dropout.probability == 0 &&
         session.attention(in.layer).log_n == LogNScaling::none;
}

}  // namespace

AttentionPath attention_path(const SelfAttentionInputs& in, PositionSession& session) {
  if (!is_softmax(in, session)) return AttentionPath::linear;
  const bool observed = in.observer != nullptr && in.observer->wants(in.layer);
  if (observed || !is_plain(in, session)) return AttentionPath::scores;
  const SchemeCapabilities capabilities = session.scheme(in.layer).capabilities();
  const bool loops = runs_loops(in.projected);
  const std::int64_t width = in.head_width();
  if (!capabilities.transform) {
    const bool nothing = !capabilities.bias && session.adds_nothing(in.layer);
    if (nothing && !capabilities.running_sums && can_pack_attention(in.projected, width)) {
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

}  // namespace roformer
