// Two models that answered the same questions: which has how many right that the other has wrong,
// and whether that is more than chance.
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

// Of answers that are right or not. Throws Error (usage) where the two did not answer the same
// number of questions.
AnswerComparison compare_answers(const std::vector<bool>& first, const std::vector<bool>& second);

nlohmann::ordered_json to_json(const AnswerComparison& comparison);

// "against runs/other: 12 examples only this run has right, ..."
std::string comparison_text(const AnswerComparison& comparison, const std::string& other);

}  // namespace roformer
