// A translator: an encoder and a decoder that attends to it. Their parameters are named "encoder.*"
// and "decoder.*"; shared parameters and the output projection have no prefix. S source tokens,
// T target tokens, M width, V vocabulary, R rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "attention/attention_cache.h"
#include "attention/cross_attention.h"
#include "config/training_settings.h"
#include "model/step_model.h"
#include "model/transformer_stack.h"
#include "tensor/parameters.h"

namespace roformer {

struct EncoderDecoderSettings {
  StackSettings encoder;
  StackSettings decoder;       // causal, with cross_attention
  bool tie_embeddings = true;  // source and target share a token table
  bool tie_output = true;      // the output projection is the target's token table
  bool output_bias = false;
};

// Options of a pass that both stacks use.
struct PassOptions {
  bool training = false;
  std::uint64_t dropout_key = 0;
  std::uint64_t feature_key = 0;
  Precision precision = Precision::fp32;
};

// Observers of each stack's self-attention; null: none.
struct StackObservers {
  AttentionObserver* encoder = nullptr;
  AttentionObserver* decoder = nullptr;
};

class EncoderDecoder {
 public:
  EncoderDecoder(const EncoderDecoderSettings& settings, ParameterStore& parameters);

  // ids [S] -> [S, M]
  at::Tensor encode(const at::Tensor& ids, const TokenLayout& source, const PassOptions& options,
                    AttentionObserver* observer = nullptr) const;

  struct DecoderInputs {
    at::Tensor ids;  // [T] int64
    const TokenLayout& layout;
    const CrossMemory& memory;
    at::Tensor rows;                  // [R] int64, or undefined: all
    AttentionCache* cache = nullptr;  // decoding
    CrossAttentionRequest* cross_request = nullptr;
    AttentionObserver* observer = nullptr;
  };
  // -> [T, M], or [R, M] with rows.
  at::Tensor decode(const DecoderInputs& inputs, const PassOptions& options) const;

  // Encodes and decodes pairs of sequences: both layouts list the pairs in the same order.
  struct PairInputs {
    at::Tensor source_ids;  // [S] int64
    const TokenLayout& source;
    at::Tensor target_ids;  // [T] int64
    const TokenLayout& target;
    at::Tensor rows;  // [R] int64 of the target, or undefined: all
    CrossAttentionRequest* cross_request = nullptr;
    StackObservers observers = {};
  };
  at::Tensor forward(const PairInputs& inputs, const PassOptions& options) const;

  at::Tensor logits(const at::Tensor& states) const;  // [R, M] -> [R, V]

  const TransformerStack& encoder() const { return encoder_; }
  const TransformerStack& decoder() const { return decoder_; }
  // For a loss that never stores all logits (linear_cross_entropy). The bias is a constant zero if
  // the settings have none.
  const at::Tensor& output_table() const { return output_; }      // [V, M]
  const at::Tensor& output_bias() const { return output_bias_; }  // [V]

 private:
  at::Tensor shared_table_;  // undefined where not tied
  TransformerStack encoder_, decoder_;
  at::Tensor output_, output_bias_;
};

// A translator, step by step: the source is encoded once, and a step costs only its new tokens.
// Rows begin as one for each source sentence; hypotheses of one sentence share its memory.

class TranslationStep : public StepModel {
 public:
  // ids [S] int64 of the source sentences.
  TranslationStep(const EncoderDecoder& model, const at::Tensor& ids, const TokenLayout& source,
                  Precision precision = Precision::fp32);

  at::Tensor append(const at::Tensor& ids) override;
  void reorder(std::span<const std::int64_t> rows) override;

 private:
  const EncoderDecoder& model_;
  Precision precision_;
  CrossMemory memory_;
  AttentionCache cache_;
};

}  // namespace roformer
