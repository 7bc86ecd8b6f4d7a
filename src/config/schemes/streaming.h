// Settings of `streaming`: a window of recent tokens and the first ones, StreamingLLM (Xiao 2024,
// arXiv:2309.17453) and LM-Infinite (Han 2024, arXiv:2308.16137).
#pragma once

#include <cstdint>

#include "config/schemes/rotary_layout.h"
#include "config/word_list.h"

namespace roformer {

// How far the first tokens are once those between are gone: by their place among what is left
// (StreamingLLM), or at the window's end (LM-Infinite).
enum class StreamingDistance { slots, clipped };
ROFORMER_WORDS(StreamingDistance, "slots", "clipped");

enum class StreamingForm { rope, alibi };
ROFORMER_WORDS(StreamingForm, "rope", "alibi");

struct StreamingSettings {
  RotaryLayout layout = RotaryLayout::half;
  double base = 10000;
  std::int64_t sinks = 4;      // s
  std::int64_t recent = 2000;  // r, the token itself among them
  StreamingDistance distance = StreamingDistance::slots;
  StreamingForm form = StreamingForm::rope;
};

}  // namespace roformer
