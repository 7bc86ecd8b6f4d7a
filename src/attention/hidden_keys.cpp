#include "attention/hidden_keys.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <vector>

#include "attention/position_session.h"

namespace roformer {
namespace {

// Whether attention or the next token's position depends on the number of keys and not only on
// their positions.
bool counts_keys(const PositionScheme& scheme, std::span<const AttentionSettings> layers) {
  if (scheme.capabilities().draws_positions) return true;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].log_n == LogNScaling::encoder) return true;
    // Scores of a formula may know the length, too, but not in causal models, which have a cache.
    const auto bias = scheme.of_layer(static_cast<std::int64_t>(i)).capabilities().bias;
    if (bias && bias->on_length) return true;
  }
  return false;
}

// Bool [1, keys], true for keys that the token sees in some layer; undefined if a layer hides none.
at::Tensor seen(PositionSession& session, std::int64_t layers) {
  at::Tensor all;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const at::Tensor visible = session.mask(layer, session.whole());
    if (!visible.defined()) return {};
    all = all.defined() ? all.logical_or(visible) : visible;
  }
  return all;
}

}  // namespace

void forget_hidden_keys(AttentionCache& cache, const PositionScheme& scheme,
                        std::span<const AttentionSettings> layers, std::int64_t next) {
  if (layers.empty() || !cache.has_doubled() || counts_keys(scheme, layers)) return;
  PositionSession session({.scheme = scheme,
                           .attention = layers[0],
                           .layers = layers,
                           .queries = Positions::range(next, 1),
                           .keys = cache.positions(),
                           .causal = true});
  const at::Tensor mask = seen(session, static_cast<std::int64_t>(layers.size()));
  const at::Tensor row = mask.defined() ? mask[0].cpu() : at::Tensor();
  // The position of the next token is derived from the last key, so it must stay.
  std::int64_t last_read = 1;
  for (std::int64_t layer = 0; layer < std::ssize(layers); ++layer) {
    last_read = std::max(last_read, scheme.of_layer(layer).capabilities().token_inputs_before);
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < cache.length(); ++i) {
    const bool read = i + last_read >= cache.length();
    if (read || !row.defined() || row.const_data_ptr<bool>()[i]) kept.push_back(i);
  }
  cache.keep(kept);
}

}  // namespace roformer
