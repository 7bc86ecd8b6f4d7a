// What the layers of a stack are made of: self-attention, attention to a memory, feed-forward. A
// sub-layer ends in an output projection, whose bias, dropout, residual and norm the stack takes in
// one pass with the next sub-layer's norm. T tokens, M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "attention/attention_cache.h"
#include "attention/attention_probe.h"
#include "attention/cross_attention.h"
#include "attention/position_session.h"
#include "config/model_settings.h"
#include "model/layer_parameters.h"
#include "tensor/operations.h"
#include "tensor/token_layout.h"

namespace roformer {

// One forward pass through a stack, as its sub-layers see it.
struct StackPass {
  const TokenLayout& layout;
  PositionSession& session;
  const Positions& positions;        // of the queries
  at::ScalarType type = at::kFloat;  // of parameters and tables
  bool training = false;
  std::uint64_t dropout_key = 0;
  AttentionCache* cache = nullptr;
  const CrossMemory* memory = nullptr;
  CrossProbe* probe = nullptr;
  AttentionProbe* self_probe = nullptr;
};

class SubLayer {
 public:
  virtual ~SubLayer() = default;

  // input [T, M] -> [T, K]: what the output projection [M, K] is then applied to.
  virtual at::Tensor forward(const at::Tensor& input, const StackPass& pass) const = 0;
  // Whether a token's result depends on other tokens.
  virtual bool mixes_tokens() const = 0;

  const Linear& output() const { return output_; }
  // Undefined where the first layer has none before it (model.first_norm).
  const Norm& norm() const { return norm_; }
  // "layers.3.attention", as its parameters are called.
  std::string title() const;
  // Of what the output projection gives.
  DropoutSpec residual_dropout(const StackPass& pass) const;

 protected:
  // Numbers in the keys of the dropouts of one layer. What has been trained depends on them.
  enum Site : std::uint64_t {
    kProbabilities = 0,
    kAttention = 1,
    kFeedForward = 2,
    kCrossProbabilities = 3,
    kCrossAttention = 4,
    kActivations = 5
  };
  struct Role {
    std::int64_t layer = 0;
    Site residual = kAttention;
    double dropout = 0;  // of the residual
    std::string prefix;  // of the layer's parameters, "layers.3."
  };

  explicit SubLayer(Role role) : role_(std::move(role)) {}
  std::int64_t layer() const { return role_.layer; }
  DropoutSpec dropout_at(const StackPass& pass, Site site, double probability) const;

  Linear output_;
  Norm norm_;

 private:
  Role role_;
};

// Where a sub-layer stands, and what it is made of. Parameters are named by kind: "attention.*",
// "cross_attention.*", "feed_forward.*" in the layer's scope.
struct SubLayerInputs {
  const ModelSettings& model;
  std::int64_t layer = 0;
  ParameterScope parameters;  // of the layer
};

std::unique_ptr<SubLayer> make_self_attention(const SubLayerInputs& inputs,
                                              double attention_dropout);
// `activation_dropout`: of what the activation gives.
std::unique_ptr<SubLayer> make_feed_forward(const SubLayerInputs& inputs,
                                            double activation_dropout);

class CrossAttention : public SubLayer {
 public:
  // `scheme` outlives it.
  CrossAttention(const SubLayerInputs& inputs, const PositionScheme& scheme,
                 double attention_dropout);
  at::Tensor forward(const at::Tensor& input, const StackPass& pass) const override;
  bool mixes_tokens() const override { return true; }
  // Adds this layer's keys and values of the memory's tokens [S, M].
  void remember(const at::Tensor& states, CrossMemory& memory) const;

 private:
  std::int64_t heads_;
  double attention_dropout_;
  const PositionScheme& scheme_;
  Linear query_;      // [M, M]
  Linear key_value_;  // [2M, M]
};

}  // namespace roformer
