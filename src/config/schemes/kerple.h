// Settings of `kerple`: a trained logarithm or power of the distance (Chi 2022).
#pragma once

#include "config/word_list.h"

namespace roformer {

enum class KerpleVariant { log, power };
ROFORMER_WORDS(KerpleVariant, "log", "power");

struct KerpleSettings {
  KerpleVariant variant = KerpleVariant::log;
};

}  // namespace roformer
