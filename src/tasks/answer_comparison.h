// Compares two models that answered the same questions: how many each has right that the other has
// wrong, and whether the difference is more than chance (McNemar's test).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace roformer {

struct AnswerComparison {
  std::int64_t both = 0, only_first = 0, only_second = 0, neither = 0;
  double p_value = 1;  // McNemar's, exact
};

// Whether each answer is right. Throws Error (usage) if the numbers of answers differ.
AnswerComparison compare_answers(const std::vector<bool>& first, const std::vector<bool>& second);

nlohmann::ordered_json to_json(const AnswerComparison& comparison);

// "against runs/other: 12 examples only this run has right, ..."
std::string comparison_text(const AnswerComparison& comparison, const std::string& other);

}  // namespace roformer
