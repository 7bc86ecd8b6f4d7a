// Whether content scores are divided by the root of the head's width.
#pragma once

#include "config/word_list.h"

namespace roformer {

enum class ScoreScale { none, sqrt_d };
ROFORMER_WORDS(ScoreScale, "none", "sqrt_d");

}  // namespace roformer
