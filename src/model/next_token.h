// A causal language model, step by step: a step costs only its new tokens. Without a cache the
// whole text is computed anew, which is what a test compares with and what serves the rotations
// that linear attention cannot keep (dynamic NTK's).
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/attention_cache.h"
#include "model/heads.h"
#include "model/step_model.h"
#include "model/transformer_stack.h"

namespace roformer {

enum class CacheUse { automatic, never };  // automatic: wherever the model can

class NextToken : public StepModel {
 public:
  struct Parts {
    const TransformerStack& stack;  // causal
    const LanguageHead& head;
    Precision precision = Precision::fp32;  // fp32 or bf16
    CacheUse cache = CacheUse::automatic;
    std::int64_t expected_length = 0;  // tokens that the texts may come to; 0: not known
  };
  explicit NextToken(Parts parts);

  at::Tensor append(const at::Tensor& ids) override;
  void reorder(std::span<const std::int64_t> rows) override;
  // Tokens whose keys and values are held.
  std::int64_t remembered() const { return cache_.length(); }

 private:
  Parts parts_;
  bool cached_;
  bool keeps_text_;
  AttentionCache cache_;
  at::Tensor text_;  // [B, L], where it may have to be read again

  void forget();
};

}  // namespace roformer
