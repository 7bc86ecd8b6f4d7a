// The search for translations of many sentences by one translator or an ensemble.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "config/decoding_settings.h"
#include "model/beam_search.h"
#include "model/sampling.h"
#include "tasks/translation/translator.h"
#include "text/tokenizer.h"

namespace roformer {

// The tokens that begin and end a sentence, and those that no translation contains.
struct TranslationTokens {
  SentenceTokens target;
  std::vector<std::int64_t> excluded;
  TokenId unknown = -1;         // excluded too, unless decoding.unknown allows it
  std::int64_t vocabulary = 0;  // of the target
};
TranslationTokens translation_tokens(const Tokenizer& target);

// Settings for drawing texts instead of searching. Sample k of a source uses the random key (seed,
// the source's number, k), whatever other sources are translated with it.
struct TranslationSampling {
  SamplingSettings choice;
  std::uint64_t seed = 1;
  std::vector<std::uint64_t> numbers;  // of the sources
};

struct TranslationOptions {
  DecodingSettings decoding;
  std::int64_t n_best = 1;                      // or samples
  std::optional<TranslationSampling> sampling;  // none: the beam search
  bool ends_with_prefix = false;  // each hypothesis is its prefix: what a given text scores
  // Called on any thread before each group of sentences. An exception from it ends the search.
  std::function<void()> before_group = {};
  // Called after each group with its number of sentences, on any thread but never by two at once.
  std::function<void(std::int64_t sentences)> after_group = {};
};

// The n-best hypotheses of each source (ids with their end), best first, or its samples. The search
// handles sentences of similar length together; the result is in the order of the sources. If there
// are prefixes (one per source), each hypothesis begins with its source's prefix. Several
// translators with one vocabulary search as an ensemble. On a CPU each thread searches for other
// sentences while there are enough of them: a step's products are too small to share, and memory
// grows with the threads.
std::vector<std::vector<Hypothesis>> translate(
    const std::vector<const Translator*>& translators,
    const std::vector<std::vector<TokenId>>& sources, const TranslationTokens& tokens,
    const TranslationOptions& options, const std::vector<std::vector<TokenId>>& prefixes = {});

}  // namespace roformer
