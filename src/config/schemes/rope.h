// Settings of `rope`: the position rotates pairs of features of q and k (Su 2021).
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
  double beta_fast = 32;             // yarn, with beta_slow
  double beta_slow = 1;
  double attention_factor = 0;      // 0: the value that the scaling computes
  double low_frequency_factor = 1;  // llama3, with high_frequency_factor
  double high_frequency_factor = 4;
  double mixed_exponent = 0.75;  // b of ntk_mixed
  // longrope: the divisors of each pair's frequency, in texts of at most L0 tokens (short) and in
  // longer ones (long).
  std::vector<double> short_factor;  // [pairs]
  std::vector<double> long_factor;
  double proportion = 1;  // p_rope: share of the pairs that are rotated
};

// The number of features in `fraction` of `features`, rounded because a fraction such as 0.3 is not
// exact in binary. The number must be even for a head; the check of the configuration ensures that.
std::int64_t rotary_share(double fraction, std::int64_t features);
// The number of these features that are rotated, in whole pairs.
std::int64_t rotary_width(double fraction, std::int64_t features);

}  // namespace roformer
