// Section `decoding` of the configuration: how a translator searches for its text, in validations
// and, unless told otherwise, when the run is used; what a causal model's text begins with.
#pragma once

#include <cstdint>
#include <vector>

#include "config/word_list.h"

namespace roformer {

// How the log probability of n tokens, the end counted, becomes a score that compares lengths.
enum class LengthPenalty {
  wu,       // log p / ((5 + n) / 6)^alpha (Wu 2016, equation 14; Vaswani 2017)
  average,  // log p / n^alpha (Marian, Hugging Face)
};
ROFORMER_WORDS(LengthPenalty, "wu", "average");

// When a sentence's search is over.
enum class StoppingRule {
  exact,     // no open hypothesis can still win, whatever follows it
  estimate,  // the best open one, as long as it is now, loses to the worst of `beam` finished ones
  full,      // `beam` hypotheses are finished
};
ROFORMER_WORDS(StoppingRule, "exact", "estimate", "full");

// What stands before a prompt.
enum class PromptStart {
  separator,       // as between documents in training
  classification,  // the token that its tokenizer begins every text with
  nothing,
};
ROFORMER_WORDS(PromptStart, "separator", "classification", "nothing");

struct DecodingSettings {
  std::int64_t beam = 4;  // 1: the greedy search
  LengthPenalty length_penalty = LengthPenalty::wu;
  double alpha = 0.6;  // 0: the log probability itself
  StoppingRule stopping = StoppingRule::exact;
  bool unknown = false;              // the unknown token may be chosen
  bool renormalize = false;          // probabilities are of the tokens that may be chosen alone
  double repetition_penalty = 1;     // on tokens that the text holds already (Keskar 2019)
  std::int64_t no_repeat_ngram = 0;  // so many tokens in a row occur once in a text; 0: no limit
  std::int64_t first_token = -1;     // the id that every text begins with; -1: any
  bool free_end = false;             // the end of a text of the longest length costs nothing
  double longest_factor = 1;         // a text has at most longest_factor * source + longest_extra
  std::int64_t longest_extra = 50;   // tokens (Vaswani 2017, 6.1: the source's length + 50)
  std::int64_t batch_tokens = 4096;  // source tokens times beam that are decoded at a time
  std::int64_t alignment_layer = 0;  // of the decoder, whose attention aligns; 0: the last
  std::int64_t sentences = 0;        // of the validation set that are decoded; 0: all
  PromptStart prompt_start = PromptStart::separator;  // of `generate`
  std::vector<std::int64_t> end_tokens;               // ids that end its text; empty: the separator
};

}  // namespace roformer
