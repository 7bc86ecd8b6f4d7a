// The cache of one stack's self-attention layers while decoding: keys and values, or the sums of
// linear attention. All texts of a batch have the same length; they can be reordered, duplicated
// and dropped.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/key_value_cache.h"
#include "attention/linear_state.h"
#include "position/positions.h"

namespace roformer {

class AttentionCache {
 public:
  // Begins a step with tokens at these positions. Every layer then appends to the cache once.
  void begin_step(const Positions& positions);
  // The positions of all tokens, the current step's last.
  const Positions& positions() const { return positions_; }
  std::int64_t length() const { return positions_.count(); }  // 0 before the first step

  // Keeps only the tokens with these indices, in order (keeping all copies nothing). Not for
  // schemes that draw positions.
  void keep(const std::vector<std::int64_t>& indices);
  // Whether the cache has doubled since the last keep(), ignoring small caches.
  bool has_doubled() const { return length() >= 2 * std::max(kept_, kLeastKept); }

  // Text i continues the old text sources[i].
  void reorder(std::span<const std::int64_t> sources);

  // Softmax attention: appends the step's keys and values, [B, H, L, D], as to_cache() returns
  // them. Returns those of all positions: views [B, H, length(), D], invalidated by the next
  // append.
  KeyValue append(std::int64_t layer, const KeyValue& added);
  // The layer's keys and values before the step's `added` tokens.
  KeyValue before(std::int64_t layer, std::int64_t added) const {
    return keys_values_.held(layer, length() - added);
  }
  // For schemes that draw positions: those of all tokens, the step's included, [1, length()].
  at::Tensor drawn_positions;
  std::int64_t expected_length = 0;  // the longest the texts may become; 0: unknown
  // Linear attention: the layer's state and its random matrix, drawn at the first step.
  struct Linear {
    LinearState state;
    at::Tensor matrix;
  };
  Linear& linear(std::int64_t layer);

 private:
  static constexpr std::int64_t kLeastKept = 32;

  Positions positions_;
  std::int64_t kept_ = 0;  // by the last keep()
  KeyValueCache keys_values_;
  std::vector<Linear> linear_;
};

}  // namespace roformer
