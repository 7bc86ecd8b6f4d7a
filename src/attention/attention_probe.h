// A place to look at softmax self-attention from, and to change it: what explains a trained model
// is given each call of the layers that it asks for, and gives the output in the attention's stead.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "attention/attend.h"

namespace roformer {

class AttentionProbe {
 public:
  virtual ~AttentionProbe() = default;

  // Other layers take their fast paths.
  virtual bool wants(std::int64_t layer) const = 0;
  // One call is a block of equally long sequences, in the order of the batch. `features`
  // [B, H, L, F]: those of the tokens, before the scheme has remembered() them; undefined where it
  // has none. -> [B, H, L, D]
  virtual at::Tensor attend(const AttendInputs& inputs, const at::Tensor& features) = 0;
};

}  // namespace roformer
