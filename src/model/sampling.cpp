#include "model/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace roformer {
namespace {

void normalize(std::vector<Candidate>& found) {
  double sum = 0;
  for (const Candidate& candidate : found) sum += candidate.probability;
  for (Candidate& candidate : found) candidate.probability /= sum;
}

}  // namespace

std::vector<Candidate> candidates(std::span<const float> logits, const SamplingSettings& settings) {
  ROFORMER_ASSERT(settings.temperature >= 0 && settings.top_k >= 0 && settings.top_p > 0);
  std::vector<Candidate> found;  // first with logits in the place of probabilities
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == -std::numeric_limits<float>::infinity()) continue;
    found.push_back({.id = static_cast<std::int64_t>(i), .probability = logits[i]});
  }
  if (found.empty()) {
    throw_failure("", "the model has no number for any next token: its scores are not finite",
                  "a scheme or formula may leave the range of numbers beyond the trained length");
  }
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  const std::size_t wanted =
      settings.temperature == 0 ? 1
                                : static_cast<std::size_t>(settings.top_k > 0 ? settings.top_k : 0);
  if (wanted > 0 && wanted < found.size()) {
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted),
                      found.end(), likelier);
    found.resize(wanted);
  } else {
    std::sort(found.begin(), found.end(), likelier);
  }
  const double temperature = settings.temperature == 0 ? 1 : settings.temperature;
  const double largest = found.front().probability;
  for (Candidate& candidate : found) {
    candidate.probability = std::exp((candidate.probability - largest) / temperature);
  }
  normalize(found);
  if (settings.top_p < 1) {
    double sum = 0;
    std::size_t kept = 0;
    while (kept < found.size() && sum < settings.top_p) sum += found[kept++].probability;
    found.resize(kept);
    normalize(found);
  }
  return found;
}

std::int64_t pick(std::span<const Candidate> candidates, double uniform) {
  ROFORMER_ASSERT(!candidates.empty());
  double sum = 0;
  for (const Candidate& candidate : candidates) {
    sum += candidate.probability;
    if (uniform < sum) return candidate.id;
  }
  return candidates.back().id;  // rounding left the sum below one
}

}  // namespace roformer
