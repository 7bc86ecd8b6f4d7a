// A translator, step by step: the source is encoded once, and a step costs only its new tokens.
// Rows begin as one for each source sentence; hypotheses of one sentence share its memory.
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/attention_cache.h"
#include "attention/cross_attention.h"
#include "model/encoder_decoder.h"
#include "model/step_model.h"

namespace roformer {

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
