// What the self-attentions of one stack remember of the texts so far: keys and values, or the sums
// of linear attention. The texts of a batch are equally long; they can change places, double and
// leave.
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
  // Begins a step whose tokens stand at these positions; every layer then takes them once.
  void begin_step(const Positions& positions);
  // Where all tokens stand, those of the step last.
  const Positions& positions() const { return positions_; }
  std::int64_t length() const { return positions_.count(); }  // 0 before the first step

  // Of the tokens' indices, in order, those that stay (all of them: nothing is copied); of
  // schemes that draw no positions.
  void keep(const std::vector<std::int64_t>& indices);
  // Holds twice as much as after the last keep(), and not little.
  bool has_doubled() const { return length() >= 2 * std::max(kept_, kLeastKept); }

  // Text i goes on from text sources[i].
  void reorder(std::span<const std::int64_t> sources);

  // Softmax attention: adds the step's keys and values, [B, H, L, D], in the form that to_cache()
  // gives. Returns those of all positions: views [B, H, length(), D] that the next step's append
  // may invalidate.
  KeyValue append(std::int64_t layer, const KeyValue& added);
  // Of the layer, without the step's `added` tokens.
  KeyValue before(std::int64_t layer, std::int64_t added) const {
    return keys_values_.held(layer, length() - added);
  }
  // Where all tokens stand, of schemes that draw positions, [1, length()]: with the step's.
  at::Tensor drawn_positions;
  std::int64_t expected_length = 0;  // that the texts may come to; 0: not known
  // Linear attention: the layer's state, and its random features, which the first step makes.
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
