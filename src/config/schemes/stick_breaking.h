// Settings of `stick_breaking`: attention that gives each key a share of what the nearer keys left
// (Tan 2025, arXiv:2410.17980).
#pragma once

#include "config/word_list.h"

namespace roformer {

// The use of the share that no key took.
enum class StickRemainder { none, value, head_bias };
ROFORMER_WORDS(StickRemainder, "none", "value", "head_bias");

struct StickBreakingSettings {
  bool attend_current = false;  // each token also attends to itself
  StickRemainder remainder = StickRemainder::none;
};

}  // namespace roformer
