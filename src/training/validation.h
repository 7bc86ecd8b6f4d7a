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

}  // namespace roformer
