// Settings of `rope`: pairs of features of q and k are rotated by their position (Su 2021).
#pragma once

#include <cstdint>
#include <vector>

#include "config/schemes/rotary_layout.h"
#include "config/word_list.h"

namespace roformer {

enum class RopeScaling {
  none,
  linear,
  ntk,
  dynamic_ntk,
  yarn,
  yarn_paper,
  llama3,
  ntk_mixed,
  longrope,
  p_rope
};
ROFORMER_WORDS(RopeScaling, "none", "linear", "ntk", "dynamic_ntk", "yarn", "yarn_paper", "llama3",
               "ntk_mixed", "longrope", "p_rope");

struct RopeSettings {
  RotaryLayout layout = RotaryLayout::interleaved;
  double base = 10000;
  double fraction = 1;  // share of each head that is rotated
  bool value = false;   // rotate v too
  std::int64_t offset = 0;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;                 // s
  std::int64_t original_length = 0;  // L0; 0: data.length
  double beta_fast = 32;             // yarn
  double beta_slow = 1;
  double attention_factor = 0;      // 0: the scaling's own
  double low_frequency_factor = 1;  // llama3
  double high_frequency_factor = 4;
  double mixed_exponent = 0.75;  // b of ntk_mixed
  // longrope: what each pair's frequency is divided by, in texts of up to L0 and of more tokens.
  std::vector<double> short_factor;  // [pairs]
  std::vector<double> long_factor;
  double proportion = 1;  // p_rope: share of the pairs that are rotated
};

// The features that `fraction` of so many comes to, rounded because a fraction such as 0.3 is not
// exact in binary. Of a head it must be even, which the check of the configuration sees to.
std::int64_t rotary_share(double fraction, std::int64_t features);
// Those of them that are rotated: whole pairs.
std::int64_t rotary_width(double fraction, std::int64_t features);

}  // namespace roformer
