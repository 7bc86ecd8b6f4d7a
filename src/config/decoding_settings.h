// Section `decoding` of the configuration: how a translator searches for its output, in validations
// and, unless told otherwise, when the run is used; and how the text of a causal model begins.
#pragma once

#include <cstdint>
#include <vector>

#include "config/word_list.h"

namespace roformer {

// Turns the log probability of n tokens (including the end) into a score that compares texts of
// different lengths.
enum class LengthPenalty {
  wu,       // log p / ((5 + n) / 6)^alpha (Wu 2016, equation 14; Vaswani 2017)
  average,  // log p / n^alpha (Marian, Hugging Face)
};
ROFORMER_WORDS(LengthPenalty, "wu", "average");

// Decides when the search for a sentence ends.
enum class StoppingRule {
  exact,     // no open hypothesis can still win, however it continues
  estimate,  // the best open one would lose now to the worst of `beam` finished ones
  full,      // `beam` hypotheses are finished
};
ROFORMER_WORDS(StoppingRule, "exact", "estimate", "full");

// The token before a prompt.
enum class PromptStart {
  separator,       // the token between documents in training
  classification,  // the token that its tokenizer puts before every text
  nothing,
};
ROFORMER_WORDS(PromptStart, "separator", "classification", "nothing");

struct DecodingSettings {
  std::int64_t beam = 4;  // 1: greedy search
  LengthPenalty length_penalty = LengthPenalty::wu;
  double alpha = 0.6;  // 0: plain log probability
  StoppingRule stopping = StoppingRule::exact;
  bool unknown = false;           // the unknown token may be chosen
  bool renormalize = false;       // normalise over the tokens that may be chosen
  double repetition_penalty = 1;  // on tokens that the text already contains (Keskar 2019)
  // no run of this many tokens occurs twice in a text; 0: no limit
  std::int64_t no_repeat_ngram = 0;
  std::int64_t first_token = -1;     // id of the first token of every text; -1: any
  bool free_end = false;             // the end of a text of maximal length costs nothing
  double longest_factor = 1;         // a text has at most longest_factor * source + longest_extra
  std::int64_t longest_extra = 50;   // tokens (Vaswani 2017, 6.1: the source's length + 50)
  std::int64_t batch_tokens = 4096;  // source tokens times beam, decoded at a time
  std::int64_t alignment_layer = 0;  // decoder layer whose attention aligns; 0: the last
  std::int64_t sentences = 0;        // number of validation sentences to decode; 0: all
  PromptStart prompt_start = PromptStart::separator;  // for `generate`
  std::vector<std::int64_t> end_tokens;  // ids that end a text of `generate`; empty: the separator
};

}  // namespace roformer
