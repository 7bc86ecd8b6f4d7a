// The Transformer stack: an embedding and layers, each a list of sub-layers, over a flat batch of
// tokens. It serves as BERT's encoder (post-norm), as a pre-norm encoder, with a causal mask as a
// decoder-only language model, and with attention to a memory as a translator's decoder. T tokens,
// M width, R rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/attention_settings.h"
#include "config/model_settings.h"
#include "config/position_settings.h"
#include "config/training_settings.h"
#include "model/embedding.h"
#include "model/sub_layer.h"
#include "position/scheme.h"
#include "tensor/parameters.h"

namespace roformer {

struct StackSettings {
  ModelSettings model;  // vocabulary resolved
  AttentionSettings attention;
  PositionSettings position;
  bool causal = false;
  std::int64_t training_length = 0;
  bool embedding_norm = true;     // with post-norm
  double activation_dropout = 0;  // inside the feed-forward sub-layers
  Recomputation recompute = Recomputation::none;
  AttentionGradient attention_gradient = AttentionGradient::fast;
  // Each layer attends to a memory after its self-attention. `cross_position` may only rotate
  // queries and keys; the default does nothing.
  bool cross_attention = false;
  PositionSettings cross_position = PositionSettings("none");
};

struct StackInputs {
  at::Tensor ids;          // [T] int64
  at::Tensor token_types;  // [T] int64 or undefined
  const TokenLayout& layout;
  // Positions of the longest sequence's tokens; none: 0, 1, 2, ..., or continued from the cache.
  std::optional<Positions> positions;
  // [R] int64: the rows of the result that are wanted. After the last sub-layer that mixes tokens
  // no other rows are computed.
  at::Tensor rows;
  std::int64_t first_wanted = 0;  // of a part of a batch: the wanted rows of the parts before it
  bool training = false;
  std::uint64_t dropout_key = 0;
  std::uint64_t feature_key = 0;          // of FAVOR+'s random matrices (favor_key)
  Precision precision = Precision::fp32;  // fp32 or bf16
  // Decoding with a causal mask: the tokens seen so far. `ids` then holds the next tokens, the same
  // number for each sequence. Not for training.
  AttentionCache* cache = nullptr;
  const CrossMemory* memory = nullptr;             // from remember(); needed with cross-attention
  CrossAttentionRequest* cross_request = nullptr;  // filled by the layer that it names
  AttentionObserver* observer = nullptr;           // asked by the layers that it wants
};

class TransformerStack {
 public:
  // `token_table`: another embedding's, shared; undefined: its own.
  TransformerStack(StackSettings settings, const ParameterScope& parameters,
                   const at::Tensor& token_table = {});

  // [T, M], or [R, M] with rows.
  at::Tensor forward(const StackInputs& inputs) const;
  // Stores each layer's cross-attention keys and values of the memory's token states [S, M].
  void remember(const at::Tensor& states, CrossMemory& memory) const;

  const StackSettings& settings() const { return settings_; }
  const PositionScheme& scheme() const { return *scheme_; }
  const Embedding& embedding() const { return *embedding_; }
  // Whether decoding can use a cache.
  bool can_cache() const;
  // Whether every pass over texts of equal lengths runs the same operations, so that a recorded
  // graph can be replayed: the host draws no random tensors.
  bool repeats_its_work() const;
  // Whether a layer's scheme must read a text again that grows from `before` to `after` tokens.
  bool requires_cache_rebuild(std::int64_t before, std::int64_t after) const;

 private:
  // The state between two sub-layers.
  struct ResidualStream {
    at::Tensor sum;    // [T, M], pre-norm only: the sum of the residuals so far
    at::Tensor input;  // [T, M], the input of the next sub-layer

    std::vector<at::Tensor> tensors() const;
    static ResidualStream of(const std::vector<at::Tensor>& tensors);
  };
  // The sub-layers begin .. end - 1.
  struct LayerRange {
    std::size_t begin = 0, end = 0;
    bool recomputed = false;
  };
  LayerRange layer_range_from(std::size_t begin) const;
  // The rows of the result, and the number of the first in the whole batch.
  struct WantedRows {
    at::Tensor index;  // [R] int64; undefined: all
    std::int64_t first = 0;
  };
  ResidualStream run_layers(const LayerRange& range, ResidualStream stream, const StackPass& pass,
                            const WantedRows& rows) const;
  ResidualStream run_layer(std::size_t index, const ResidualStream& stream, StackPass pass,
                           const WantedRows& rows) const;
  // The norm that the stack fuses with the residual of sub-layer `index`; empty: none.
  Norm norm_after(std::size_t index) const;
  // Whether sub-layer `index` is an attention with a feed-forward parallel to it.
  bool parallel_to_next(std::size_t index) const;

  StackSettings settings_;
  std::uint64_t dropout_word_;  // distinguishes the stacks of one model; 0: there is only one
  std::unique_ptr<Embedding> embedding_;
  std::unique_ptr<PositionScheme> scheme_, cross_scheme_;
  std::vector<AttentionSettings> attention_;           // one for each layer
  std::vector<std::unique_ptr<SubLayer>> sub_layers_;  // of all layers, in order
  std::vector<const CrossAttention*> cross_attentions_;
  std::size_t last_mixing_ = 0;  // the last sub-layer that mixes tokens
  Norm final_norm_;              // pre-norm only: after the last layer
};

}  // namespace roformer
