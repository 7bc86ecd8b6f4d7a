// Which features of a head a rotation takes together as a pair.
#pragma once

#include "config/word_list.h"

namespace roformer {

enum class RotaryLayout { interleaved, half };  // neighbours, or one of each half
ROFORMER_WORDS(RotaryLayout, "interleaved", "half");

}  // namespace roformer
