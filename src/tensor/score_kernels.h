// The loops of schemes whose scores depend on the content, for CPUs: the softmax and what takes its
// place, positions that are counted by gates, and a network across the heads. Compiled once per
// instruction set like the loops of kernels.h; nothing here knows tensors or threads. A is float or
// double. Pairs are rows of queries, with all their keys end to end.
#pragma once

#include <cstdint>

namespace roformer::kernels {

// The loops go through so many rows at once, each of which waits for a sum of its own.
inline constexpr std::int64_t kRowsTogether = 4;

// Which keys the rows see.
struct VisiblePairs {
  const bool* visible = nullptr;  // [rows, keys]; null: all
  std::int64_t rows = 1;          // row r sees as row r % rows does
  std::int64_t keys = 0;

  const bool* of(std::int64_t row) const {
    return visible == nullptr ? nullptr : visible + row % rows * keys;
  }
};

// The softmax of scores and bias over the keys that a row sees; zeros where it sees none.
template <typename A>
struct SoftmaxRows {
  A* scores = nullptr;         // [rows, keys], become the probabilities
  const A* bias = nullptr;     // [bias_rows, keys], added first; null: none
  std::int64_t bias_rows = 1;  // row r gets row r % bias_rows
  VisiblePairs pairs;
};

// Stick-breaking (Tan 2025): w_j = sigmoid(s_j) prod over m > j of (1 - sigmoid(s_m)).
template <typename A>
struct BreakSticks {
  A* scores = nullptr;     // [rows, keys], become the weights
  A* shares = nullptr;     // [rows, keys]: the sigmoids, 0 where hidden; null: not wanted
  A* remainder = nullptr;  // [rows]: what the weights lack of 1
  VisiblePairs pairs;
};
template <typename A>
struct StickSlopes {
  A* slopes = nullptr;  // [rows, keys]: of the weights; become those of the scores
  const A* weights = nullptr;
  const A* shares = nullptr;
  const A* remainder = nullptr;
  const A* remainder_slopes = nullptr;  // [rows]; null: none
  std::int64_t keys = 0;
};

// CoPE (Golovneva 2024): p_j = min(sum over m >= j of sigmoid(s_m), positions - 1); the row's
// product with the vector of that position, interpolated, is added.
template <typename A>
struct ContextualScores {
  A* scores = nullptr;          // [rows, keys], changed in place
  A* gates = nullptr;           // [rows, keys]: the sigmoids, 0 where hidden
  const A* products = nullptr;  // [rows, positions]
  std::int64_t positions = 0;
  VisiblePairs pairs;
};
template <typename A>
struct ContextualSlopes {
  A* slopes = nullptr;  // [rows, keys], get what flows through the gates
  const A* gates = nullptr;
  const A* products = nullptr;
  A* to_products = nullptr;  // [rows, positions], added to
  std::int64_t positions = 0;
  std::int64_t keys = 0;
  A* memory = nullptr;  // [kRowsTogether, keys], overwritten
};

// DAPE's network of two layers (Zheng 2024): y[o, j] = b[o] + sum over t, c of
// W[t, c, o] x[c, j + t - taps / 2], a LeakyReLU between them; what lies outside the keys is 0. Its
// channels are the heads' scores and, where there are some, their biases.
template <typename A>
struct ScoreNetworkRow {
  // Of one query: head h begins at h * head_step.
  const A* scores = nullptr;   // [heads, keys]
  const A* bias = nullptr;     // [heads, keys]; null: the scores alone
  const bool* past = nullptr;  // [keys]: what the first layer sees; null: all
  std::int64_t head_step = 0;
  std::int64_t heads = 0;
  std::int64_t keys = 0;
  std::int64_t taps = 1;  // odd
  std::int64_t hidden = 0;
  const A* first_weight = nullptr;   // [taps, channels, hidden]
  const A* first_bias = nullptr;     // [hidden]
  const A* second_weight = nullptr;  // [taps, hidden, heads]
  const A* second_bias = nullptr;    // [heads]
  A slope = 0;
  A* output = nullptr;  // [heads, keys]: scores + bias + network
  // Backward only, with the output's gradient for `output`.
  const A* output_gradient = nullptr;
  A* to_scores = nullptr;  // [heads, keys]
  A* to_bias = nullptr;    // [heads, keys], added to; null: not wanted
  // Of first weight, first bias, second weight, second bias, end to end: kLaneSums<A> sums of each
  // number, which together are its gradient; added to.
  A* to_weights = nullptr;
  A* memory = nullptr;  // memory_needed() numbers, overwritten

  std::int64_t channels() const { return bias == nullptr ? heads : 2 * heads; }
  // Columns of the memory for a part of the keys, with their neighbours on both sides of both
  // layers.
  std::int64_t columns() const {
    return (kKeysOfPart + 2 * (taps - 1) + kStep - 1) / kStep * kStep;
  }
  std::int64_t memory_needed() const {
    return (2 * channels() + 2 * hidden + heads) * columns() + kStep;
  }

  static constexpr std::int64_t kKeysOfPart = 64;
  static constexpr std::int64_t kStep = 128 / sizeof(A);  // columns that are computed at once
};
template <typename A>
inline constexpr std::int64_t kLaneSums = 64 / sizeof(A);

template <typename A>
struct ScoreKernels {
  void (*softmax_rows)(const SoftmaxRows<A>&, std::int64_t begin, std::int64_t end);
  void (*break_sticks)(const BreakSticks<A>&, std::int64_t begin, std::int64_t end);
  void (*stick_slopes)(const StickSlopes<A>&, std::int64_t begin, std::int64_t end);
  void (*add_contextual)(const ContextualScores<A>&, std::int64_t begin, std::int64_t end);
  void (*contextual_slopes)(const ContextualSlopes<A>&, std::int64_t begin, std::int64_t end);
  void (*score_network)(const ScoreNetworkRow<A>&);
  void (*score_network_slopes)(const ScoreNetworkRow<A>&);
};

// The loops of the best instruction set of this processor.
template <typename A>
const ScoreKernels<A>& score_kernels();

}  // namespace roformer::kernels
