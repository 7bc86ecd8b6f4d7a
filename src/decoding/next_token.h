// The logits of the token that follows a growing text, from a causal model: with a key-value cache
// a step costs only its new tokens; without one (linear attention) the whole text is computed anew.
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/key_value_cache.h"
#include "model/encoder.h"
#include "model/language_head.h"

namespace roformer {

enum class CacheUse { automatic, never };  // automatic: wherever the attention can

class NextToken {
 public:
  struct Parts {
    const Encoder& encoder;  // causal
    const LanguageHead& head;
    Precision precision = Precision::fp32;  // fp32 or bf16
    CacheUse cache = CacheUse::automatic;
  };
  explicit NextToken(Parts parts);

  // Appends `ids` [B, L] to B texts of equal length and returns the logits of what follows, [B, V].
  // Throws Error (usage) beyond the places of a learned table.
  at::Tensor append(const at::Tensor& ids);

 private:
  Parts parts_;
  KeyValueCache cache_;
  at::Tensor text_;  // [B, L], kept only without the cache
};

}  // namespace roformer
