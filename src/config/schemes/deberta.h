// Settings of `deberta`: disentangled attention of content and distance (He 2021).
#pragma once

#include <cstdint>

#include "config/word_list.h"

namespace roformer {

enum class DebertaIndex { paper, code };
ROFORMER_WORDS(DebertaIndex, "paper", "code");

struct DebertaSettings {
  std::int64_t span = 512;  // k
  bool content_to_position = true;
  bool position_to_content = true;
  DebertaIndex index = DebertaIndex::paper;
  bool share_projections = false;  // use the layer's own query and key projections
  bool bias = false;               // the projections of positions have biases, as in version 2
  std::int64_t buckets = 0;        // log buckets of v2; 0: none
  std::int64_t max_position = 512;
  bool norm = false;  // LayerNorm of the table (v3)
  double norm_epsilon = 1e-7;
};

}  // namespace roformer
