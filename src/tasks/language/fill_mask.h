// The predictions of a masked language model for each [MASK] of a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/language/language_model.h"

namespace roformer {

struct MaskPrediction {
  TokenId id = 0;
  std::string piece;  // as in the vocabulary
  std::string text;   // of the piece alone
  double probability = 0;
  std::string filled;  // the text with this mask filled and the others as they were
};

// The mask as a user writes it in a text.
inline constexpr std::string_view kMaskMarker = "[MASK]";

// For each mask of the text, the `top` most likely pieces, most likely first. Empty if the text has
// no mask. The model reads [CLS] text [SEP], as in its training. It never predicts special tokens,
// and only the marker counts as a mask. Throws Error (usage) for a causal model and for a text
// longer than the scheme's table.
std::vector<std::vector<MaskPrediction>> fill_mask(const TrainedModel& model, std::string_view text,
                                                   std::int64_t top);

}  // namespace roformer
