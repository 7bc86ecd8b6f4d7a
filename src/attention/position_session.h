// The use of a positional scheme in one forward pass: biases and masks are computed once for the
// longest sequence and shared by all sequences, and by all layers if the scheme shares them.
// Queries and keys are the same tokens, or the queries are the last of the keys (a decoding step).
// Recomputed layers use the same session.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "config/attention_settings.h"
#include "config/training_settings.h"
#include "position/scheme.h"
#include "tensor/token_layout.h"

namespace roformer {

struct SessionInputs {
  const PositionScheme& scheme;
  const AttentionSettings& attention;
  std::span<const AttentionSettings> layers = {};  // of each layer; empty: `attention` for all
  // Positions in the longest sequence; shorter ones use the first of them.
  Positions queries, keys;
  bool causal = false;
  bool training = false;
  at::ScalarType type = at::kFloat;  // of tables and biases
  at::Device device = at::kCPU;
  // The random matrices of linear attention are a function of this key (favor_key) and the layer.
  std::uint64_t feature_key = 0;
  // The drawn positions of the keys, float64 [S or 1, Lk]; undefined: drawn here for one sequence
  // with the key 0. Only for schemes that draw positions.
  at::Tensor drawn_positions = {};
  AttentionGradient attention_gradient = AttentionGradient::fast;
};

// The number of queries and keys of a call: the first ones of the session.
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
  bool exact_gradient() const { return inputs_.attention_gradient == AttentionGradient::exact; }

  // Whether queries and keys are the same tokens at neighbouring positions.
  bool contiguous() const {
    return inputs_.queries == inputs_.keys && inputs_.queries.contiguous();
  }

  Extent whole() const {
    return {.queries = inputs_.queries.count(), .keys = inputs_.keys.count()};
  }

  // The context of an extent's queries and keys, without a mask. `sequences` selects sequences of
  // the batch where their positions differ.
  struct Sequences {
    std::int64_t first = 0, count = 1;
  };
  AttentionContext context(std::int64_t layer, const Extent& extent, const Sequences& sequences);
  AttentionContext context(std::int64_t layer, const Extent& extent) {
    return context(layer, extent, {});
  }
  // The scheme's rotation of a sequence of this length, made once for all layers that share the
  // scheme. Requires that queries and keys are the same tokens.
  const std::optional<RotationPair>& rotation(std::int64_t layer, std::int64_t length,
                                              std::int64_t head_width);
  // Bool [Lq, Lk], true = visible; undefined when nothing is hidden.
  at::Tensor mask(std::int64_t layer, const Extent& extent);
  // Whether nothing is added to the scores and only causality, with equal queries and keys, hides
  // keys. Makes no mask.
  bool adds_nothing(std::int64_t layer);
  // The scheme's bias, [1, H, Lq, Lk] in the session's type, or undefined. Carries gradients if
  // trained.
  at::Tensor bias(std::int64_t layer, const Extent& extent);
  // The bias with all masks as -infinity, [1, 1 or H, Lq, Lk] in the session's type. Undefined if
  // adds_nothing(). Carries gradients if the bias is trained.
  at::Tensor additive(std::int64_t layer, const Extent& extent);
  // The same without causality, by difference of positions: [1 or H, Lq + Lk - 1], entry
  // Lq - 1 - i + j for query i and key j. Undefined also if it depends on more than that difference
  // or positions are not contiguous. Never stores all pairs.
  at::Tensor additive_of_differences(std::int64_t layer, const Extent& extent);
  // The first token of each text and the end of the last: [texts + 1] int32 on the device.
  const at::Tensor& text_starts(const TokenLayout& layout);
  // The matrix of FAVOR+ features, [features, head_width] in the session's type; undefined for
  // other kernels.
  at::Tensor feature_matrix(std::int64_t layer, std::int64_t head_width);

 private:
  SessionInputs inputs_;
  // Layers with the same scheme and window share a mask; layers with the same scheme, a bias.
  struct Mask {
    bool asked = false, made = false;
    at::Tensor of_scheme;  // once asked
    at::Tensor visible;    // of the whole extent, once made
  };
  using MaskKey = std::pair<const PositionScheme*, std::int64_t>;
  // Scheme; layer, or -1 for all; number of keys, or -1 for all lengths.
  using BiasKey = std::tuple<const PositionScheme*, std::int64_t, std::int64_t>;
  // By scheme, length and head width.
  using RotationKey = std::tuple<const PositionScheme*, std::int64_t, std::int64_t>;
  std::map<RotationKey, std::optional<RotationPair>> rotations_;
  std::map<MaskKey, Mask> masks_;
  std::map<BiasKey, at::Tensor> biases_;
  std::map<std::pair<BiasKey, MaskKey>, at::Tensor> additive_, differences_;
  std::map<std::int64_t, at::Tensor> features_;
  std::map<std::int64_t, std::vector<at::Tensor>> shared_;  // of each layer
  at::Tensor text_starts_;

  AttentionContext context_of_positions(std::int64_t layer, const Extent& extent,
                                        const Sequences& sequences) const;
  MaskKey mask_key(std::int64_t layer) const;
  // attention.window, or 0 where it hides no key from any query.
  std::int64_t window(std::int64_t layer) const;
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
