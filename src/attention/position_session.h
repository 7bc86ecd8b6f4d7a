// One forward pass's use of a positional scheme: biases and masks are made once for the longest
// sequence and shared by the layers (where the scheme shares them) and by all sequences. Queries
// and keys are the same tokens, or the queries are the last of the keys' (a step of decoding). A
// recomputed layer borrows what it gets here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "config/attention_settings.h"
#include "position/scheme.h"
#include "tensor/token_layout.h"

namespace roformer {

struct SessionInputs {
  const PositionScheme& scheme;
  const AttentionSettings& attention;
  std::span<const AttentionSettings> layers = {};  // of each layer; empty: `attention` for all
  // Of the longest sequence; shorter ones take its first positions.
  Positions queries, keys;
  bool causal = false;
  bool training = false;
  at::ScalarType type = at::kFloat;  // of tables and biases
  at::Device device = at::kCPU;
  // Random features of linear attention are a function of this key and the layer: another one
  // (favor_key) draws them anew.
  std::uint64_t feature_key = 0;
  // Of the keys, float64 [S or 1, Lk], of schemes that draw positions; undefined: drawn for one
  // sequence by the key 0.
  at::Tensor drawn_positions = {};
};

// How many of a session's positions a call is about: the first of queries and keys.
struct Extent {
  std::int64_t queries = 0, keys = 0;

  static Extent square(std::int64_t length) { return {.queries = length, .keys = length}; }
};

class PositionSession {
 public:
  explicit PositionSession(SessionInputs inputs);

  const PositionScheme& scheme(std::int64_t layer) const { return inputs_.scheme.of_layer(layer); }
  const AttentionSettings& attention(std::int64_t layer) const {
    return inputs_.layers.empty() ? inputs_.attention
                                  : inputs_.layers[static_cast<std::size_t>(layer)];
  }
  bool causal() const { return inputs_.causal; }

  Extent whole() const {
    return {.queries = inputs_.queries.count(), .keys = inputs_.keys.count()};
  }

  // Where the queries and keys of an extent stand, without a mask: of these sequences of the batch,
  // or of any where all stand alike.
  struct Sequences {
    std::int64_t first = 0, count = 1;
  };
  AttentionContext context(std::int64_t layer, const Extent& extent, const Sequences& sequences);
  AttentionContext context(std::int64_t layer, const Extent& extent) {
    return context(layer, extent, {});
  }
  // Bool [Lq, Lk], true = visible; undefined when nothing is hidden.
  at::Tensor mask(std::int64_t layer, const Extent& extent);
  // Whether nothing is added to the scores, and nothing hidden but by the causality of equal
  // queries and keys. Asks without making a mask.
  bool adds_nothing(std::int64_t layer);
  // The scheme's bias, [1, H, Lq, Lk] in the session's type, or undefined. Has a graph where
  // trained.
  at::Tensor bias(std::int64_t layer, const Extent& extent);
  // The bias with every mask as -infinity, [1, 1 or H, Lq, Lk] in the session's type. Undefined
  // where there is nothing but the causality of equal queries and keys. Has a graph where the bias
  // is trained.
  at::Tensor additive(std::int64_t layer, const Extent& extent);
  // The same, but for causality, where it depends on the difference of contiguous positions alone:
  // [1 or H, Lq + Lk - 1], entry Lq - 1 - i + j that of query i and key j. Nothing of the size of
  // all pairs is made. Undefined also where it does not.
  at::Tensor additive_of_differences(std::int64_t layer, const Extent& extent);
  // Where each text of the pass begins, and the end: [texts + 1] int32 on the session's device.
  const at::Tensor& text_starts(const TokenLayout& layout);
  // The matrix of FAVOR+ features, [features, head_width] in the session's type; undefined for
  // other kernels.
  at::Tensor feature_matrix(std::int64_t layer, std::int64_t head_width);

 private:
  SessionInputs inputs_;
  // Layers of the same scheme and window share a mask, of the same scheme a bias.
  struct Mask {
    bool asked = false, made = false;
    at::Tensor of_scheme;  // once asked
    at::Tensor visible;    // of the whole extent, once made
  };
  using MaskKey = std::pair<const PositionScheme*, std::int64_t>;
  // Scheme, layer or -1 for all, keys or -1 for all lengths.
  using BiasKey = std::tuple<const PositionScheme*, std::int64_t, std::int64_t>;
  std::map<MaskKey, Mask> masks_;
  std::map<BiasKey, at::Tensor> biases_;
  std::map<std::pair<BiasKey, MaskKey>, at::Tensor> additive_, differences_;
  std::map<std::int64_t, at::Tensor> features_;
  std::map<std::int64_t, std::vector<at::Tensor>> shared_;  // of each layer
  at::Tensor text_starts_;

  AttentionContext context_of_positions(std::int64_t layer, const Extent& extent,
                                        const Sequences& sequences) const;
  MaskKey mask_key(std::int64_t layer) const;
  BiasKey bias_key(std::int64_t layer, const Extent& extent) const;
  at::Tensor own_bias(std::int64_t layer, const Extent& extent);
  Extent bias_extent(std::int64_t layer, const Extent& extent) const;
  const at::Tensor& mask_of_scheme(std::int64_t layer);
  const at::Tensor& visible(std::int64_t layer);
};

// Bool [Lq, Lk], true where key j <= query i.
at::Tensor causal_mask(const Positions& queries, const Positions& keys,
                       at::Device device = at::kCPU);
// The local mask of `window` tokens: causal 0 <= i - j < window; else window/2 to the left, itself,
// the rest to the right (section 11 of the specification).
at::Tensor window_mask(const Positions& queries, const Positions& keys, std::int64_t window,
                       bool causal, at::Device device = at::kCPU);

}  // namespace roformer
