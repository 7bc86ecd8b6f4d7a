// One forward pass's use of a positional scheme: biases and masks are made once for the longest
// sequence and shared by the layers (where the scheme shares them) and by all sequences.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>

#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

struct SessionInputs {
  const PositionScheme& scheme;
  const AttentionSettings& attention;
  Positions positions;  // of the longest sequence; shorter ones take its first positions
  bool causal = false;
  bool training = false;
  at::ScalarType type = at::kFloat;  // of tables and biases
  at::Device device = at::kCPU;
  // Random features of linear attention are a function of this key and the layer: another one
  // (favor_key) draws them anew.
  std::uint64_t feature_key = 0;
};

class PositionSession {
 public:
  explicit PositionSession(SessionInputs inputs);

  const PositionScheme& scheme() const { return inputs_.scheme; }
  const AttentionSettings& attention() const { return inputs_.attention; }
  bool causal() const { return inputs_.causal; }

  // The context of a self-attention over the first `length` positions, without a mask.
  AttentionContext context(std::int64_t layer, std::int64_t length) const;
  // Bool [L, L], true = visible: causality, window and the scheme's own mask; undefined when
  // nothing but (possibly) causality hides a key.
  at::Tensor extra_mask(std::int64_t length);
  // The scheme's bias, [1, H, L, L] in the session's type, or undefined. Has a graph where trained.
  at::Tensor bias(std::int64_t layer, std::int64_t length);
  // The bias with every mask as -infinity, [1, 1 or H, L, L] in the session's type; undefined when
  // there is neither a bias nor an extra mask. Has a graph where the bias is trained.
  at::Tensor additive(std::int64_t layer, std::int64_t length);
  // The matrix of FAVOR+ features, [features, head_width] in the session's type; undefined for
  // other kernels.
  at::Tensor feature_matrix(std::int64_t layer, std::int64_t head_width);

 private:
  SessionInputs inputs_;
  bool extra_mask_made_ = false;
  at::Tensor extra_mask_;                      // for the longest sequence
  std::map<std::int64_t, at::Tensor> biases_;  // by layer, or -1 for all; for the longest too
  std::map<std::int64_t, at::Tensor> additive_;
  std::map<std::int64_t, at::Tensor> features_;

  Positions first(std::int64_t length) const;
  std::int64_t bias_key(std::int64_t layer) const;
};

// Bool [Lq, Lk], true where key j <= query i.
at::Tensor causal_mask(const Positions& queries, const Positions& keys);
// The local mask of `window` tokens: causal 0 <= i - j < window; else window/2 to the left, itself,
// the rest to the right (section 11 of the specification).
at::Tensor window_mask(const Positions& queries, const Positions& keys, std::int64_t window,
                       bool causal);

}  // namespace roformer
