// Finds which source token each token of a translation attended to, from the decoder's attention to
// the source in one forced pass over a given translation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tasks/translation/translation_search.h"
#include "tasks/translation/translator.h"

namespace roformer {

// Pairs (token of the source, token of the target) from 0, one for each target token in order; the
// ends of both sides take no part.
using Alignment = std::vector<std::pair<std::int64_t, std::int64_t>>;

// A source, its end at last, and a target text without begin and end.
struct AlignedPair {
  std::vector<TokenId> source;
  std::vector<std::int64_t> target;
};

// For each target token the source token with the largest mean probability over the heads of the
// decoder's layer `layer` (from 1; 0: the last), and over the translators, whose last layers
// may differ in number; of equals the first. The attention is that of the step which chose the
// token. `budget`: target tokens at a time. Throws Error (usage) for a layer that there is not.
std::vector<Alignment> align(const std::vector<const Translator*>& translators,
                             const std::vector<AlignedPair>& pairs, const TranslationTokens& tokens,
                             std::int64_t layer, std::int64_t budget);

}  // namespace roformer
