// Settings of `alibi`: scores fall linearly with the distance (Press 2022).
#pragma once

#include "config/word_list.h"

namespace roformer {

enum class AlibiVariant { causal, symmetric, asymmetric };
ROFORMER_WORDS(AlibiVariant, "causal", "symmetric", "asymmetric");

struct AlibiSettings {
  AlibiVariant variant = AlibiVariant::symmetric;
  bool trained = false;  // slopes of the asymmetric variant
};

}  // namespace roformer
