// The Transformer's stack: an embedding, and layers that are lists of sub-layers, over a flat batch
// of tokens. BERT's encoder (post-norm) or a pre-norm one; with a causal mask a decoder-only
// language model; with attention to a memory a translator's decoder. T tokens, M width, R rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/attention_settings.h"
#include "config/device_settings.h"
#include "config/model_settings.h"
#include "config/position_settings.h"
#include "config/training_settings.h"
#include "model/embedding.h"
#include "model/sub_layer.h"
#include "position/scheme.h"
#include "tensor/parameter_scope.h"

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
  // Each layer attends to a memory, behind its self-attention. Only the rotations of this scheme
  // take part; by default none.
  bool cross_attention = false;
  PositionSettings cross_position = PositionSettings("none");
};

struct StackInputs {
  at::Tensor ids;          // [T] int64
  at::Tensor token_types;  // [T] int64 or undefined
  const TokenLayout& layout;
  // Positions of the longest sequence's tokens; none: 0, 1, 2, ... or on from the cache's last.
  std::optional<Positions> positions;
  // [R] int64: only these rows of the result are wanted. Behind the last sub-layer that mixes
  // tokens nothing else is computed.
  at::Tensor rows;
  bool training = false;
  std::uint64_t dropout_key = 0;
  std::uint64_t feature_key = 0;          // of FAVOR+'s random matrices (favor_key)
  Precision precision = Precision::fp32;  // fp32 or bf16
  // Decoding, with a causal mask: what went through before. The ids are those that follow, as many
  // of each sequence; without training.
  AttentionCache* cache = nullptr;
  const CrossMemory* memory = nullptr;   // from remember(); needed with cross-attention
  CrossProbe* probe = nullptr;           // filled by the layer that it names
  AttentionProbe* self_probe = nullptr;  // asked by the layers that it wants
};

class TransformerStack {
 public:
  // `token_table`: another embedding's, shared; undefined: its own.
  TransformerStack(StackSettings settings, const ParameterScope& parameters,
                   const at::Tensor& token_table = {});

  // [T, M], or [R, M] with rows.
  at::Tensor forward(const StackInputs& inputs) const;
  // Adds the keys and values that the layers see of the states [S, M] of a memory's tokens.
  void remember(const at::Tensor& states, CrossMemory& memory) const;

  const StackSettings& settings() const { return settings_; }
  const PositionScheme& scheme() const { return *scheme_; }
  const Embedding& embedding() const { return *embedding_; }
  // Whether a step of decoding can go on from a cache.
  bool can_cache() const;
  // Whether every pass over texts of equal lengths does the same work with other numbers: nothing
  // is drawn anew by the host.
  bool repeats_its_work() const;
  // Whether some layer's scheme reads a text of `before` tokens otherwise when it has `after`.
  bool rereads(std::int64_t before, std::int64_t after) const;

 private:
  // What goes from one sub-layer to the next.
  struct Flow {
    at::Tensor sum;    // [T, M] of the residuals so far; of pre-norm alone
    at::Tensor input;  // [T, M] of the next sub-layer

    std::vector<at::Tensor> tensors() const;
    static Flow of(const std::vector<at::Tensor>& tensors);
  };
  // A stretch of sub-layers, begin .. end - 1.
  struct Stretch {
    std::size_t begin = 0, end = 0;
    bool recomputed = false;
  };
  Stretch stretch_from(std::size_t begin) const;
  Flow through(const Stretch& stretch, Flow flow, const StackPass& pass,
               const at::Tensor& rows) const;
  Flow through(std::size_t index, const Flow& flow, const StackPass& pass,
               const at::Tensor& rows) const;

  StackSettings settings_;
  std::uint64_t dropout_word_;  // tells stacks of one model apart; 0: the only one
  std::unique_ptr<Embedding> embedding_;
  std::unique_ptr<PositionScheme> scheme_, cross_scheme_;
  std::vector<AttentionSettings> attention_;           // of each layer
  std::vector<std::unique_ptr<SubLayer>> sub_layers_;  // of all layers
  std::vector<const CrossAttention*> cross_attentions_;
  std::size_t last_mixing_ = 0;  // the last sub-layer that mixes tokens
  Norm final_norm_;              // pre-norm: of the last sum
};

}  // namespace roformer
