#include "runs/matching_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

// The last length of each share but the last.
constexpr std::array<std::int64_t, 4> kLengths = {256, 512, 1024, 1536};

// Of an example's texts, in tokens.
std::int64_t longest_of(const MatchingSet& set, std::size_t example) {
  const auto texts = static_cast<std::size_t>(set.source.texts_per_example());
  std::int64_t longest = 0;
  for (std::size_t i = example * texts; i < (example + 1) * texts; ++i) {
    longest = std::max(longest, set.texts[i].longest);
  }
  return longest;
}

std::vector<MatchingShare> shares_by_length(const MatchingSet& set,
                                            const std::vector<bool>& right) {
  std::vector<MatchingShare> shares;
  std::int64_t low = 1;
  for (const std::int64_t high : kLengths) {
    shares.push_back({.name = fmt::format("{} to {} tokens", low, high)});
    low = high + 1;
  }
  shares.push_back({.name = fmt::format("{} tokens and more", low)});
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto bucket = std::ranges::lower_bound(kLengths, longest_of(set, i)) - kLengths.begin();
    MatchingShare& share = shares[static_cast<std::size_t>(bucket)];
    ++share.examples;
    share.right += right[i] ? 1 : 0;
  }
  std::erase_if(shares, [](const MatchingShare& share) { return share.examples == 0; });
  return shares;
}

// By how much the wrong answer was preferred.
double wrong_by(const MatchingSet& set, const std::vector<double>& scores, std::size_t example) {
  if (set.source.triplets) return scores[2 * example + 1] - scores[2 * example];
  return std::abs(scores[example]);
}

}  // namespace

double MatchingShare::accuracy() const {
  return examples == 0 ? 0 : static_cast<double>(right) / static_cast<double>(examples);
}

Interval MatchingShare::interval() const {
  return wilson_interval(right, examples);
}

MatchingEvaluation evaluate_matching(const Classifier& classifier, const MatchingSettings& settings,
                                     const MatchingSet& set, const WorkProgress& progress) {
  MatchingEvaluation result{.scores = matching_scores(classifier, set, progress)};
  result.figures = matching_figures(settings, set, result.scores);
  result.right = right_answers(set, result.scores);
  result.all = {.name = "all",
                .examples = std::ssize(result.right),
                .right = std::ranges::count(result.right, true)};
  result.by_length = shares_by_length(set, result.right);
  result.cut = std::ranges::count(set.texts, true, &EncodedText::cut);
  for (std::size_t i = 0; set.source.triplets && i < set.source.examples.size(); ++i) {
    result.ties += result.scores[2 * i] == result.scores[2 * i + 1];
  }
  return result;
}

std::vector<std::size_t> worst_answers(const MatchingSet& set, const MatchingEvaluation& evaluation,
                                       std::size_t count) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < evaluation.right.size(); ++i) {
    if (!evaluation.right[i]) wrong.push_back(i);
  }
  std::ranges::stable_sort(wrong, std::ranges::greater{},
                           [&](std::size_t i) { return wrong_by(set, evaluation.scores, i); });
  wrong.resize(std::min(wrong.size(), count));
  return wrong;
}

nlohmann::ordered_json to_json(const MatchingShare& share) {
  return {{"name", share.name},          {"examples", share.examples},
          {"right", share.right},        {"accuracy", share.accuracy()},
          {"low", share.interval().low}, {"high", share.interval().high}};
}

nlohmann::ordered_json to_json(const MatchingEvaluation& evaluation) {
  nlohmann::ordered_json object = {
      {"figures", evaluation.figures},
      {"accuracy", to_json(evaluation.all)},
      {"standard_error", standard_error(evaluation.all.right, evaluation.all.examples)},
      {"cut", evaluation.cut},
      {"ties", evaluation.ties},
      {"by_length", nlohmann::ordered_json::array()}};
  for (const MatchingShare& share : evaluation.by_length) {
    object["by_length"].push_back(to_json(share));
  }
  return object;
}

}  // namespace roformer
