// Which tensors of a Hugging Face folder are which parameter of this program, with their shapes:
// the one table that import and export share. Names here are canonical: without the "bert." or
// "roformer." (ModernBERT: "model.") that a model with a head puts before those of its encoder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "interop/hugging_face_config.h"

namespace roformer {

struct WeightNames {
  std::string ours;
  std::vector<std::string> theirs;  // several: stacked row by row in ours (query, key, value)
  std::vector<std::int64_t> shape;  // of each of theirs; the first of -1 is read from the file
};

// The encoder; without a table of token types where settings.model.token_types is 0.
std::vector<WeightNames> encoder_names(const Settings& settings, HuggingFaceFamily family);
// Dense, activation, LayerNorm, bias; the decoder is the table of tokens (in ModernBERT it need not
// be).
std::vector<WeightNames> language_head_names(const Settings& settings, HuggingFaceFamily family);
// BERT's dense layer on [CLS], which its classification head needs.
std::vector<WeightNames> pooler_names(const Settings& settings);
// Without the pooler. The number of classes is -1: the file's.
std::vector<WeightNames> classification_head_names(const Settings& settings,
                                                   HuggingFaceFamily family);

// "embeddings.*", "encoder.*" and so on take the family's prefix in a model with a head.
std::string with_prefix(const std::string& canonical, HuggingFaceFamily family);
// Without the prefix, and with the names that the first releases had (gamma and beta of LayerNorm)
// as today's.
std::function<std::string(const std::string& name)> canonical_names(HuggingFaceFamily family);

// RoFormer's stored sinusoids [positions, head width], which are no parameter here.
inline constexpr const char* kSinusoidName = "encoder.embed_positions.weight";

}  // namespace roformer
