// Which tensors of a MarianMT folder are which parameter of a translator of this program: the one
// table that import and export share. Their names are canonical: without the leading "model.".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

struct MarianVocabularies {
  std::int64_t source = 0, target = 0;  // rows
};

struct MarianWeight {
  std::string ours;
  std::vector<std::string> theirs;  // several: stacked row by row in ours (query, key, value)
  std::vector<std::int64_t> shape;  // of each of theirs
  // Which dimensions are the features of a token as they pass from layer to layer.
  std::vector<std::int64_t> features;
};

// Of model.*, translation.* of the settings. The output's bias, which they store as [1, V], is left
// out: kMarianOutputBias.
std::vector<MarianWeight> marian_weights(const Settings& settings,
                                         const MarianVocabularies& vocabularies);

inline constexpr const char* kMarianOutputBias = "final_logits_bias";  // [1, V]
// The tables of sinusoids [positions, width], which are no parameter here.
inline constexpr const char* kMarianSinusoids[] = {"encoder.embed_positions.weight",
                                                   "decoder.embed_positions.weight"};
// All names of the tables of tokens; those that are tied may be missing, or stand there twice.
inline constexpr const char* kMarianSharedTable = "shared.weight";
inline constexpr const char* kMarianSourceTable = "encoder.embed_tokens.weight";
inline constexpr const char* kMarianTargetTable = "decoder.embed_tokens.weight";
inline constexpr const char* kMarianOutput = "lm_head.weight";

std::string marian_canonical_name(const std::string& name);
std::string marian_stored_name(const std::string& canonical);

}  // namespace roformer
