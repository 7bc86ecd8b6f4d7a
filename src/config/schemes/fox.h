// Settings of `fox`: the Forgetting Transformer's gates (Lin 2025, arXiv:2503.02130).
#pragma once

#include "config/word_list.h"

namespace roformer {

// The input of a gate: the token (trained), or only a number for each head, which is trained
// (bias_only) or fixed.
enum class ForgetGates { trained, bias_only, fixed };
ROFORMER_WORDS(ForgetGates, "trained", "bias_only", "fixed");

struct FoxSettings {
  ForgetGates gates = ForgetGates::trained;
  double rope_base = 0;        // 0: q and k are not rotated
  double shortest_time = 1;    // T_min, for gates that do not depend on the token
  double longest_time = 4096;  // T_max
};

}  // namespace roformer
