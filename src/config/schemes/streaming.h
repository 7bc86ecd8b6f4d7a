// Settings of `streaming`: each token sees a window of recent tokens and the first tokens of the
// text. StreamingLLM (Xiao 2024, arXiv:2309.17453) and LM-Infinite (Han 2024, arXiv:2308.16137).
#pragma once

#include <cstdint>

#include "config/schemes/rotary_layout.h"
#include "config/word_list.h"

namespace roformer {

// The distance to the first tokens once the tokens after them are evicted: their place among the
// remaining tokens (StreamingLLM), or the end of the window (LM-Infinite).
enum class StreamingDistance { slots, clipped };
ROFORMER_WORDS(StreamingDistance, "slots", "clipped");

enum class StreamingForm { rope, alibi };
ROFORMER_WORDS(StreamingForm, "rope", "alibi");

struct StreamingSettings {
  RotaryLayout layout = RotaryLayout::half;
  double base = 10000;
  std::int64_t sinks = 4;      // s
  std::int64_t recent = 2000;  // r, including the token itself
  StreamingDistance distance = StreamingDistance::slots;
  StreamingForm form = StreamingForm::rope;
};

}  // namespace roformer
