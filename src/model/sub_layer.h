// The parts of a layer: linear maps and norms, and the sub-layers (self-attention, attention to a
// memory, feed-forward). T tokens, M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/attend.h"
#include "attention/attention_cache.h"
#include "attention/cross_attention.h"
#include "attention/position_session.h"
#include "config/model_settings.h"
#include "tensor/operations.h"
#include "tensor/parameters.h"
#include "tensor/token_layout.h"

namespace roformer {

struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out] or undefined
};
struct LinearShape {
  std::int64_t out = 0, in = 0;
  double initialization = 0.02;  // standard deviation of the truncated normal
  bool bias = true;
  // Inside a layer: the rows of each matrix packed in it (ParameterSpec::matrices).
  std::vector<std::int64_t> matrices = {};
};
// NAME.weight and NAME.bias.
Linear add_linear(const ParameterScope& scope, const std::string& name, const LinearShape& shape);

// x [T, in] -> [T, out], with the bias if defined.
at::Tensor apply(const Linear& linear, const at::Tensor& x);

struct Norm {
  at::Tensor gain, shift;  // [size]; shift undefined without biases
  NormKind kind = NormKind::layer_norm;
};
// Adds a norm of the model's kind.
Norm add_norm(const ParameterScope& scope, const std::string& name, std::int64_t size,
              const ModelSettings& model);

// The inputs of a forward pass that all sub-layers share.
struct StackPass {
  const TokenLayout& layout;
  PositionSession& session;
  const Positions& positions;        // of the queries
  at::ScalarType type = at::kFloat;  // of parameters and tables
  bool training = false;
  std::uint64_t dropout_key = 0;
  // The number that the first row of the sub-layer has in the whole batch.
  std::int64_t first_row = 0;
  AttentionCache* cache = nullptr;
  const CrossMemory* memory = nullptr;
  CrossAttentionRequest* cross_request = nullptr;
  AttentionObserver* observer = nullptr;
};

// A sub-layer returns the input of its output projection; the stack fuses that projection's bias,
// dropout and residual with the following norm.
class SubLayer {
 public:
  virtual ~SubLayer() = default;

  // input [T, M] -> [T, K], to which the stack applies the output projection [M, K].
  virtual at::Tensor forward(const at::Tensor& input, const StackPass& pass) const = 0;
  // Whether a token's result depends on other tokens.
  virtual bool mixes_tokens() const = 0;

  const Linear& output() const { return output_; }
  // Undefined for the first sub-layer if model.first_norm is off.
  const Norm& norm() const { return norm_; }
  // The prefix of its parameters' names: "layers.3.attention".
  std::string title() const;
  // The dropout of the output projection's result.
  DropoutSpec residual_dropout(const StackPass& pass) const;

 protected:
  // Parts of the random keys of one layer's dropouts. Do not renumber: runs in training depend on
  // them.
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

// The inputs of a sub-layer's constructor. Parameters are named by kind: "attention.*",
// "cross_attention.*", "feed_forward.*" in the layer's scope.
struct SubLayerInputs {
  const ModelSettings& model;
  std::int64_t layer = 0;
  ParameterScope parameters;  // of the layer
};

std::unique_ptr<SubLayer> make_self_attention(const SubLayerInputs& inputs,
                                              double attention_dropout);
// `activation_dropout`: after the activation.
std::unique_ptr<SubLayer> make_feed_forward(const SubLayerInputs& inputs,
                                            double activation_dropout);

class CrossAttention : public SubLayer {
 public:
  // `scheme` outlives it.
  CrossAttention(const SubLayerInputs& inputs, const PositionScheme& scheme,
                 double attention_dropout);
  at::Tensor forward(const at::Tensor& input, const StackPass& pass) const override;
  bool mixes_tokens() const override { return true; }
  // Stores this layer's keys and values of the memory's token states [S, M].
  void remember(const at::Tensor& states, CrossMemory& memory) const;

 private:
  std::int64_t heads_;
  double attention_dropout_;
  const PositionScheme& scheme_;
  Linear query_;      // [H * D, M]
  Linear key_value_;  // [2H * D, M]
};

}  // namespace roformer
