// What a validation comes to: named figures, and the one by which checkpoints are ranked.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace roformer {

struct ValidationResult {
  std::map<std::string, double> figures;  // "loss", "accuracy", ...
  std::string ranked_by = "loss";
  bool higher_is_better = false;
  std::int64_t tokens = 0;
};

// The standard error of a figure is a figure with this at the end of its name.
inline constexpr const char* kStandardError = "_standard_error";

// "accuracy 0.3120  loss 4.7550 ± 0.0123": each figure with its standard error, where it has one.
std::string describe_figures(const ValidationResult& result, const std::string& separator);

}  // namespace roformer
