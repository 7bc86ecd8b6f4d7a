// Beam search over any step model: for each of S sentences the most probable continuations, found
// by keeping the best K open hypotheses of every length. Unless told otherwise the search is exact
// about its end: a sentence is done when no open hypothesis can still beat the finished ones,
// whatever follows it; its rows then leave the model.
#pragma once

#include <cstdint>
#include <vector>

#include "config/decoding_settings.h"
#include "model/sampling.h"
#include "model/step_model.h"

namespace roformer {

struct BeamSettings {
  std::int64_t beam = 4;  // 1: the greedy search
  std::int64_t n_best = 1;
  LengthPenalty length_penalty = LengthPenalty::wu;
  double alpha = 0.6;  // 0: the log probability itself
  StoppingRule stopping = StoppingRule::exact;
};

// One sentence: the beginning of its text and its limits.
struct BeamSentence {
  std::vector<std::int64_t> begin;   // ids that are given to the model first, not empty
  std::vector<std::int64_t> prefix;  // ids that the text must begin with; they count in the score
  std::int64_t longest = 256;        // tokens of the text at most, the end counted
};

struct BeamVocabulary {
  std::int64_t end = -1;               // the id that ends a text
  std::vector<std::int64_t> excluded;  // ids that are never chosen
  std::int64_t size = 0;               // ids from here on are never chosen either; 0: all may be
  bool renormalize = false;            // what is excluded takes no share of the probability
  TokenRules rules;                    // what the text so far makes of the scores
  std::int64_t first = -1;             // every text without a prefix begins with it, at no cost
  bool free_end = false;               // where a text must end, its end costs nothing
};

// The ids that are never chosen from `rows` logits, each once.
std::vector<std::int64_t> excluded_ids(const BeamVocabulary& vocabulary, std::int64_t rows);

// With rules, the log probabilities are those that the rules left (BeamVocabulary).
struct Hypothesis {
  std::vector<std::int64_t> ids;                // without the end
  std::vector<double> token_log_probabilities;  // one an id, and that of the end
  double log_probability = 0;                   // their sum
  double score = 0;                             // after the length penalty
};

double length_penalized(double log_probability, std::int64_t tokens, const BeamSettings& settings);

// The n_best hypotheses of each sentence, best first. The model holds one row a sentence, in their
// order, and nothing yet; all sentences begin with equally many ids.
std::vector<std::vector<Hypothesis>> beam_search(StepModel& model,
                                                 const std::vector<BeamSentence>& sentences,
                                                 const BeamVocabulary& vocabulary,
                                                 const BeamSettings& settings);

}  // namespace roformer
