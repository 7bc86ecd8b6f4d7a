// Settings of `fox`: the Forgetting Transformer's gates (Lin 2025, arXiv:2503.02130).
#pragma once

#include <cstdint>

#include "config/word_list.h"

namespace roformer {

// What a gate depends on: its token, or nothing but a number of each head, trained or fixed.
enum class ForgetGates { trained, bias_only, fixed };
ROFORMER_WORDS(ForgetGates, "trained", "bias_only", "fixed");

struct FoxSettings {
  ForgetGates gates = ForgetGates::trained;
  double rope_base = 0;        // 0: q and k are not rotated
  double shortest_time = 1;    // T_min, of gates that do not depend on the token
  double longest_time = 4096;  // T_max
};

}  // namespace roformer
