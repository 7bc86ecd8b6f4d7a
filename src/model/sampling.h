// How the next token is chosen from logits: temperature, top-k and top-p as pure functions. The
// three apply in this order, each to what the one before left (as in Hugging Face's generation).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace roformer {

struct SamplingSettings {
  double temperature = 1;  // logits are divided by it; 0: the most likely token, always
  std::int64_t top_k = 0;  // only the k most likely tokens; 0: all
  double top_p = 1;        // the fewest tokens whose probabilities reach this sum (Holtzman 2020)
};

struct Candidate {
  std::int64_t id = 0;
  double probability = 0;
};

// The tokens that may follow, most likely first (the lower id of equals), probabilities summing to
// 1. `logits` [V]; -infinity never follows. With default settings: the whole softmax.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplingSettings& settings);

// The id at `uniform` in [0, 1) of the cumulated probabilities.
std::int64_t pick(std::span<const Candidate> candidates, double uniform);

// Rules by which the tokens of a text so far change the scores of the next one, as Hugging Face's
// generate() has them (generation/logits_process.py).

struct TokenRules {
  // What the text holds has its score divided by it, or multiplied where it is below 0 (Keskar
  // 2019, 4.1, for scores of both signs); 1: as it is.
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram = 0;  // so many tokens in a row occur once in a text; 0: any number

  bool any() const { return repetition_penalty != 1 || no_repeat_ngram > 0; }
};

// `text`: all ids so far, what it was begun with included. `scores` [V]: of what follows it, logits
// or log probabilities; what may not follow becomes minus infinity. Ids beyond V are none.
void apply_rules(const TokenRules& rules, std::span<const std::int64_t> text,
                 std::span<float> scores);

}  // namespace roformer
