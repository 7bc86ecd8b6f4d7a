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

}  // namespace roformer
