// Reorders the rows of a batch in place: beam search continues some rows several times and drops
// others. Only rows that change are copied.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/attend.h"
#include "attention/linear_attention.h"
#include "config/attention_settings.h"
#include "position/positions.h"
#include "position/scheme.h"

namespace roformer {

class RowMoves {
 public:
  // Row i of the result is row sources[i] of the `rows` there are.
  RowMoves(std::span<const std::int64_t> sources, std::int64_t rows);

  // True if every row keeps its place.
  bool nothing() const { return copies_.empty() && count() == rows_; }
  std::int64_t count() const { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t copies() const { return static_cast<std::int64_t>(copies_.size()); }

  // `memory` [rows, ..., capacity, D] -> [count(), ..., capacity, D], the same memory if it has
  // enough rows. Only the first `used` positions of dimension 2 are copied.
  at::Tensor apply(const at::Tensor& memory, std::int64_t used) const;

 private:
  struct Copy {
    std::int64_t from = 0, to = 0;
  };
  static constexpr std::int64_t kSpare = -1;  // a temporary row outside the memory

  std::vector<std::int64_t> sources_;
  std::int64_t rows_;
  std::vector<Copy> copies_;  // ordered so that every row is read before it is overwritten

  void copy_heads(const at::Tensor& memory, std::int64_t used) const;
};

// The keys and values of each layer for the tokens decoded so far, so that one more token costs one
// row of attention. Capacity doubles when full, so steps append in place.

class KeyValueCache {
 public:
  // Appends keys and values [B, H, L, D] after the first `held`. Returns views
  // [B, H, held + L, D] of all.
  KeyValue append(std::int64_t layer, const KeyValue& added, std::int64_t held);
  // Views of a layer's first `held` tokens; undefined tensors if it has none.
  KeyValue held(std::int64_t layer, std::int64_t held) const;
  // Keeps only the tokens with these indices in every layer, int64 [kept] in order.
  void keep(const at::Tensor& indices);
  // Row i continues the old row sources[i]. Rows that stay in place are not copied.
  void reorder(std::span<const std::int64_t> sources);

 private:
  std::vector<KeyValue> layers_;  // [B, H, capacity, D]
  std::int64_t used_ = 0;
};

// The cache of one stack's self-attention layers while decoding: keys and values, or the sums of
// linear attention. All texts of a batch have the same length; they can be reordered, duplicated
// and dropped.

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

// Drops cached keys that no later token can see: those outside the window of every layer, or those
// between the first and the last tokens if a scheme sees only these. The cache then stays bounded
// however long the text grows.

// Drops from a softmax cache every key that the token at position `next` sees in no layer. Windows
// and all schemes' masks guarantee that a key hidden from one token is hidden from all later ones.
// Checking costs one row of masks, so it runs only when the cache has doubled: memory is at most
// twice the visible keys (and at least 64 tokens).
void forget_hidden_keys(AttentionCache& cache, const PositionScheme& scheme,
                        std::span<const AttentionSettings> layers, std::int64_t next);

}  // namespace roformer
