// Rules by which the tokens of a text so far change the scores of the next one, as Hugging Face's
// generate() has them (generation/logits_process.py).
#pragma once

#include <cstdint>
#include <span>

namespace roformer {

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
