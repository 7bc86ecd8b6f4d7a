// Attention over separate q, k and v: the general path. It serves the schemes whose scores depend
// on the content, decoding with a cache, attention dropout, log-n scaling, and devices other than
// CPUs; what needs none of that takes fused_attention instead.
#pragma once

#include <ATen/core/Tensor.h>

#include "config/settings.h"
#include "position/scheme.h"
#include "tensor/operations.h"

namespace roformer {

struct AttendInputs {
  at::Tensor query;  // [B, H, Lq, D], biased, not turned
  at::Tensor key;    // [B, H, Lk, D]
  at::Tensor value;  // [B, H, Lk, D]
  const PositionScheme& scheme;
  const AttentionSettings& attention;
  AttentionPlace place;  // its mask holds everything that is hidden
  at::Tensor bias;       // the scheme's bias for this place, or undefined
  DropoutSpec dropout;   // of the probabilities
};

struct Attended {
  at::Tensor output;  // [B, H, Lq, D]
  at::Tensor scores;  // [B, H, Lq, Lk] scaled, biased, unmasked; only where asked for
};

// A row without visible keys gives zeros.
Attended attend(const AttendInputs& inputs, bool with_scores = false);

}  // namespace roformer
