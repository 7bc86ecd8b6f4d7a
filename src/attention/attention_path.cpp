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
  const SchemeForm form = session.scheme(in.layer).form();
  return form.scores == ContentScores::none && !form.value_term && !form.weights &&
         !form.bias_of_positions && in.dropout.probability == 0 &&
         session.attention(in.layer).log_n == LogNScaling::none;
}

}  // namespace

AttentionPath attention_path(const SelfAttentionInputs& in, PositionSession& session) {
  if (!is_softmax(in, session)) return AttentionPath::features;
  const bool probed = in.probe != nullptr && in.probe->wants(in.layer);
  if (probed || !is_plain(in, session)) return AttentionPath::scores;
  const SchemeForm form = session.scheme(in.layer).form();
  const bool loops = runs_loops(in.projected);
  const std::int64_t width = in.head_width();
  if (!form.transform) {
    const bool nothing = !form.bias && session.adds_nothing(in.layer);
    if (nothing && !form.running_sums && can_pack_attention(in.projected, width)) {
      return AttentionPath::packed;
    }
    const bool sums = !form.running_sums || (loops && nothing);
    if (sums && can_tile_attention(in.projected, width)) return AttentionPath::tiles;
  }
  if (form.running_sums) return form.bias ? AttentionPath::scores : AttentionPath::running_sums;
  return !loops || (form.transform && !form.bias) ? AttentionPath::kernel : AttentionPath::scores;
}

AttentionPath cached_attention_path(const SelfAttentionInputs& in, PositionSession& session) {
  if (!is_softmax(in, session)) return AttentionPath::features;
  const SchemeForm form = session.scheme(in.layer).form();
  const bool kernel = runs_loops(in.projected) && is_plain(in, session) &&
                      form.cached_keys == CachedKeys::rotated && !form.running_sums;
  return kernel ? AttentionPath::kernel : AttentionPath::scores;
}

}  // namespace roformer
