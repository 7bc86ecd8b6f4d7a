// Sees each call of softmax self-attention in the layers that it asks for, and may replace the
// output. `explain` uses it to record attention and to remove positions from a trained model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "attention/attend.h"

namespace roformer {

class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;

  // Other layers take their fast paths.
  virtual bool wants(std::int64_t layer) const = 0;
  // One call is a block of equally long sequences, in the order of the batch.
  // `token_inputs` [B, H, L, F]: the scheme's, before cached_token_inputs(); undefined where it
  // has none. -> [B, H, L, D]
  virtual at::Tensor attend(const AttendInputs& inputs, const at::Tensor& token_inputs) = 0;
};

}  // namespace roformer
