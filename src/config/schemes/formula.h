// Settings of `formula`: a bias or new scores as a formula of the user's, with trained parameters.
#pragma once

#include <string>
#include <vector>

#include "config/formula/parameter.h"

namespace roformer {

struct FormulaSettings {
  // Added after the scale; by default ALiBi, whose slopes are those of a power of two of heads.
  std::string bias = "-2^(-8 * (h + 1) / heads) * abs(i - j)";
  std::string score;  // instead of the bias: the new score
  std::vector<FormulaParameter> parameters;
  std::string source;  // where the formula comes from
  std::string name;    // that tables and charts have for it; empty: its text
};

}  // namespace roformer
