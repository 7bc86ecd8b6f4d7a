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
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  const bool greedy = settings.temperature == 0;
  std::vector<Candidate> found;  // first with logits in the place of probabilities
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == -std::numeric_limits<float>::infinity()) continue;
    const Candidate candidate{.id = static_cast<std::int64_t>(i), .probability = logits[i]};
    if (!greedy || found.empty()) {
      found.push_back(candidate);
    } else if (likelier(candidate, found.front())) {
      found.front() = candidate;
    }
  }
  if (found.empty()) {
    throw_failure("", "the model has no number for any next token: its scores are not finite",
                  "a scheme or formula may leave the range of numbers beyond the trained length");
  }
  if (greedy) {
    found.front().probability = 1;
    return found;
  }
  const auto wanted = static_cast<std::size_t>(settings.top_k);
  if (wanted > 0 && wanted < found.size()) {
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted),
                      found.end(), likelier);
    found.resize(wanted);
  } else {
    std::sort(found.begin(), found.end(), likelier);
  }
  const double largest = found.front().probability;
  for (Candidate& candidate : found) {
    candidate.probability = std::exp((candidate.probability - largest) / settings.temperature);
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

namespace {

bool has_score(std::int64_t id, std::span<const float> scores) {
  return id >= 0 && id < static_cast<std::int64_t>(scores.size());
}

void penalize_repetition(double penalty, std::span<const std::int64_t> text,
                         std::span<float> scores) {
  const auto factor = static_cast<float>(penalty);
  std::vector<std::int64_t> ids(text.begin(), text.end());
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());  // a token is penalised once
  for (const std::int64_t id : ids) {
    if (!has_score(id, scores)) continue;
    float& score = scores[static_cast<std::size_t>(id)];
    score = score < 0 ? score * factor : score / factor;
  }
}

// Bans what would end a row of `size` tokens that the text holds already.
void ban_repeated_rows(std::size_t size, std::span<const std::int64_t> text,
                       std::span<float> scores) {
  if (text.size() < size) return;
  const auto begun = text.last(size - 1);
  for (std::size_t i = 0; i + size <= text.size(); ++i) {
    const std::int64_t id = text[i + size - 1];
    if (!has_score(id, scores) || !std::ranges::equal(text.subspan(i, size - 1), begun)) continue;
    scores[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

void apply_rules(const TokenRules& rules, std::span<const std::int64_t> text,
                 std::span<float> scores) {
  if (rules.repetition_penalty != 1) penalize_repetition(rules.repetition_penalty, text, scores);
  if (rules.no_repeat_ngram > 0) {
    ban_repeated_rows(static_cast<std::size_t>(rules.no_repeat_ngram), text, scores);
  }
}

}  // namespace roformer
