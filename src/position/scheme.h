// A positional scheme: one class in one file, which answers the questions below and nothing else.
// Every answer has a default that means "nothing", so that a scheme says only what it is about. The
// attention asks these hooks and never a scheme's name. Shapes: B batch, L length, M width, H
// heads, D head width; masks are true where a key is visible. Sections are those of the
// specification of the schemes in tests/position/golden.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/position_facts.h"
#include "config/position_settings.h"
#include "position/positions.h"
#include "tensor/parameter_scope.h"
#include "tensor/rotation.h"

namespace roformer {

// What a scheme may know of the model when it makes its parameters.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;       // M
  std::int64_t heads = 0;       // H
  std::int64_t head_width = 0;  // D
  bool causal = false;
  std::int64_t training_length = 0;
  at::ScalarType type = at::kFloat;  // of the parameters
};

// The attention layer's own projections, for schemes that share them. x W^T, W [H*D, M].
struct LayerProjections {
  at::Tensor query_weight;
  at::Tensor key_weight;
};

// One attention call: where its queries and keys stand. Lq < Lk when decoding or with a memory.
struct AttentionContext {
  Positions queries;
  Positions keys;
  std::int64_t layer = 0;
  bool causal = false;
  bool training = false;
  at::Tensor mask;  // bool, broadcastable to [B, H, Lq, Lk], with causality; undefined: all visible
  at::ScalarType type = at::kFloat;  // of tables and biases
  at::Device device = at::kCPU;
  LayerProjections projections;
};

// How queries and keys (and values, as the keys) are rotated.
struct RotationPair {
  Rotation query;
  Rotation key;
  bool value = false;
};

// What a scheme whose scores depend on the content is given. [B, H, L, D] and [B, H, Lq, Lk].
struct ScoreTerms {
  at::Tensor query;      // rotated
  at::Tensor key;        // rotated
  at::Tensor raw_query;  // before the rotation
  at::Tensor raw_key;
  at::Tensor scores;  // scale * query.key, before any bias or mask
  double scale = 1;
};

// What a key-value cache holds for this scheme.
enum class CachedKeys { rotated, unrotated };

class PositionScheme {
 public:
  virtual ~PositionScheme() = default;

  // The scheme that answers questions 2 to 9 in a layer: another one where layers differ.
  virtual const PositionScheme& of_layer(std::int64_t layer) const { return *this; }

  // 1. What is added to the token embedding, [L, M]; undefined: nothing.
  virtual at::Tensor embedding(const Positions& positions) const { return {}; }

  // 2. How q and k are rotated; `width` is the head width or, with linear attention, the features.
  virtual std::optional<RotationPair> rotation(const AttentionContext& context,
                                               std::int64_t width) const {
    return std::nullopt;
  }

  // 3. A bias that does not depend on content, [1 or B, H, Lq, Lk], added after the scale.
  virtual bool has_bias() const { return false; }
  virtual bool bias_of_each_layer() const { return false; }  // else one for all layers
  // Whether it depends on the number of keys: then it is made for each length of a batch.
  virtual bool bias_of_each_length() const { return false; }
  virtual at::Tensor bias(const AttentionContext& context) const { return {}; }

  // 4. Scores from content: the new scores, with the given ones changed in place where that helps.
  virtual bool has_content_scores() const { return false; }
  virtual at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const {
    return terms.scores;
  }

  // 5. What is added to the output from the probabilities [B, H, Lq, Lk]: [B, H, Lq, D].
  virtual bool has_value_term() const { return false; }
  virtual at::Tensor value_term(const AttentionContext& context,
                                const at::Tensor& probabilities) const {
    return {};
  }

  // 6. The factor of the content scores.
  virtual double score_scale(std::int64_t head_width) const;

  // 7. What is hidden beyond the model's mask: bool [Lq, Lk], true = visible; undefined: nothing.
  virtual at::Tensor mask(const AttentionContext& context) const { return {}; }

  // 9. Capabilities beyond those of the facts table.
  virtual CachedKeys cached_keys() const { return CachedKeys::rotated; }
};

// What every scheme's constructor gets. Parameters (8) are named "position.*" and
// "layers.N.attention.position.*".
struct SchemeInputs {
  const PositionSettings& settings;
  ModelShape shape;
  ParameterScope parameters;
};

// The scheme that settings.scheme names.
std::unique_ptr<PositionScheme> make_scheme(const SchemeInputs& inputs);

// "layers.3.attention.position.NAME"
std::string layer_parameter(std::int64_t layer, const std::string& name);

}  // namespace roformer
