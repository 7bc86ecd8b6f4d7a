// Finds which source token each token of a translation attended to, from the decoder's attention to
// the source in one forced pass over a given translation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tasks/translation/translation_search.h"
#include "tasks/translation/translator.h"

namespace roformer {

// Pairs (source token, target token), counted from 0, one for each target token in order. The end
// tokens take no part.
using Alignment = std::vector<std::pair<std::int64_t, std::int64_t>>;

// A source with its end token, and a target text without begin and end tokens.
struct AlignedPair {
  std::vector<TokenId> source;
  std::vector<std::int64_t> target;
};

// For each target token, finds the source token with the largest mean attention probability; the
// first of equals wins. The mean is over the heads of the decoder's layer `layer` (from 1; 0: the
// last) and over the translators, whose last layers may have different numbers. The attention comes
// from the step that chose the token. `budget`: target tokens at a time. Throws Error (usage) if
// there is no such layer.
std::vector<Alignment> align(const std::vector<const Translator*>& translators,
                             const std::vector<AlignedPair>& pairs, const TranslationTokens& tokens,
                             std::int64_t layer, std::int64_t budget);

}  // namespace roformer
