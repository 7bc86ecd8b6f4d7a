// A causal language model, step by step: a step costs only its new tokens. Without a cache every
// step recomputes the whole text: for tests, and for rotations that linear attention cannot cache
// (dynamic NTK).
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
    std::int64_t expected_length = 0;  // the longest the texts may become; 0: unknown
  };
  explicit NextToken(Parts parts);

  at::Tensor append(const at::Tensor& ids) override;
  void reorder(std::span<const std::int64_t> rows) override;
  // The number of tokens whose keys and values are cached.
  std::int64_t remembered() const { return cache_.length(); }

 private:
  Parts parts_;
  bool cached_;
  bool keeps_text_;
  AttentionCache cache_;
  at::Tensor text_;  // [B, L], if it may have to be read again

  void forget();
};

}  // namespace roformer
