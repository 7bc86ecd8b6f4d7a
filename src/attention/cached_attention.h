// Causal self-attention of a decoding step: the step's queries see the cache's keys and their own.
// The counterpart of self_attention, which sees whole sequences.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>

#include "attention/key_value_cache.h"
#include "attention/self_attention.h"

namespace roformer {

struct CachedAttentionInputs {
  const PositionScheme& scheme;
  const AttentionSettings& attention;  // with the softmax kernel
  KeyValueCache& cache;
  Positions positions;               // of the step's tokens
  at::ScalarType type = at::kFloat;  // of tables and biases
  at::Device device = at::kCPU;
};

// One step through all layers: mask and bias are made once where the scheme shares them.
class CachedAttention {
 public:
  // Begins a step of the cache.
  explicit CachedAttention(const CachedAttentionInputs& inputs);

  // -> [T, H * D]. The layout is one block: sequences of equal length, in the cache's order.
  at::Tensor attend(const SelfAttentionInputs& inputs);

 private:
  const PositionScheme& scheme_;
  const AttentionSettings& attention_;
  KeyValueCache& cache_;
  AttentionContext context_;                   // of layer 0
  std::map<std::int64_t, at::Tensor> biases_;  // by layer, or -1 for all

  at::Tensor bias(const AttentionContext& context);
};

}  // namespace roformer
