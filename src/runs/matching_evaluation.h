// What a trained matcher comes to on a set of triplets or pairs: accuracy with its interval, by
// length of the text, and the examples that it has most wrong.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metrics/statistics.h"
#include "tasks/matching_task.h"

namespace roformer {

struct MatchingShare {
  std::string name;  // "all", "257 to 512 tokens"
  std::int64_t examples = 0;
  std::int64_t right = 0;

  double accuracy() const;
  Interval interval() const;  // Wilson's, 95 %
};

struct MatchingEvaluation {
  std::map<std::string, double> figures;  // as a validation's
  std::vector<double> scores;             // of the pairs of texts
  std::vector<bool> right;                // [examples]
  MatchingShare all;
  std::vector<MatchingShare> by_length;  // of the longest text, in tokens before it was cut
  std::int64_t cut = 0;                  // pairs of texts
  std::int64_t ties = 0;                 // triplets whose two scores are the same: not right
};

MatchingEvaluation evaluate_matching(const Classifier& classifier, const MatchingSettings& settings,
                                     const MatchingSet& set, const WorkProgress& progress = {});

// Numbers of the examples that are wrong by most, at most `count`.
std::vector<std::size_t> worst_answers(const MatchingSet& set, const MatchingEvaluation& evaluation,
                                       std::size_t count);

nlohmann::ordered_json to_json(const MatchingShare& share);
nlohmann::ordered_json to_json(const MatchingEvaluation& evaluation);

}  // namespace roformer
