// The features of a head that a rotation combines into pairs.
#pragma once

#include "config/word_list.h"

namespace roformer {

enum class RotaryLayout { interleaved, half };  // neighbours, or one feature of each half
ROFORMER_WORDS(RotaryLayout, "interleaved", "half");

}  // namespace roformer
