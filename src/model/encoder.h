// The Transformer's stack: token embedding, positional scheme and layers of self-attention and
// feed-forward, over a flat batch of tokens. BERT's encoder (post-norm) or a pre-norm one; with a
// causal mask the same blocks are a decoder-only language model. T tokens, M width, P places.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attention/key_value_cache.h"
#include "config/attention_settings.h"
#include "config/device_settings.h"
#include "config/model_settings.h"
#include "config/position_settings.h"
#include "position/scheme.h"
#include "tensor/parameters.h"
#include "tensor/token_layout.h"

namespace roformer {

struct EncoderSettings {
  ModelSettings model;  // vocabulary resolved
  AttentionSettings attention;
  PositionSettings position;
  bool causal = false;
  std::int64_t training_length = 0;
};

struct EncoderInputs {
  at::Tensor ids;          // [T] int64
  at::Tensor token_types;  // [T] int64 or undefined
  const TokenLayout& layout;
  // Places of the longest sequence's tokens; none: 0, 1, 2, ... or on from the cache's last.
  std::optional<Positions> positions;
  // [P] int64: only these rows of the result are wanted. The last layer then computes nothing else
  // behind its attention.
  at::Tensor places;
  bool training = false;
  std::uint64_t dropout_key = 0;
  std::uint64_t feature_key = 0;          // of FAVOR+'s random matrices (favor_key)
  Precision precision = Precision::fp32;  // fp32 or bf16
  // Decoding, with a causal mask and softmax attention: what went through before. The ids are those
  // that follow, as many of each sequence; without training.
  KeyValueCache* cache = nullptr;
};

class Encoder {
 public:
  Encoder(EncoderSettings settings, ParameterStore& parameters);

  // [T, M], or [P, M] with rows.
  at::Tensor forward(const EncoderInputs& inputs) const;

  const EncoderSettings& settings() const { return settings_; }
  const PositionScheme& scheme() const { return *scheme_; }
  const at::Tensor& token_table() const { return tokens_; }  // [V, E]
  std::int64_t embedding_width() const;

 private:
  struct Norm {
    at::Tensor gain, shift;
  };
  struct Layer {
    at::Tensor projection, projection_bias;  // q, k, v: [3M, M], [3M]
    at::Tensor output, output_bias;
    Norm attention_norm;
    at::Tensor inner, inner_bias;  // [F, M]
    at::Tensor outer, outer_bias;  // [M, F]
    Norm feed_forward_norm;
  };

  EncoderSettings settings_;
  std::unique_ptr<PositionScheme> scheme_;
  at::Tensor tokens_, types_;                                    // [V, E], [types, E]
  at::Tensor embedding_projection_, embedding_projection_bias_;  // [M, E] where E differs from M
  Norm embedding_norm_;                                          // post-norm: of the embedding
  Norm final_norm_;                                              // pre-norm: of the last sum
  std::vector<Layer> layers_;

  at::Tensor embed(const EncoderInputs& inputs, at::ScalarType type) const;
};

}  // namespace roformer
