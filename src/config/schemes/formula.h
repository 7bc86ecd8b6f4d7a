// Settings of `formula`: a bias or new scores, given by the user's formula with trained parameters.
#pragma once

#include <string>
#include <vector>

#include "config/formula/parameter.h"

namespace roformer {

struct FormulaSettings {
  // The bias, which is added after the scale. The default is ALiBi with its slopes for a power of
  // two of heads.
  std::string bias = "-2^(-8 * (h + 1) / heads) * abs(i - j)";
  std::string score;  // new scores, instead of the bias
  std::vector<FormulaParameter> parameters;
  std::string source;  // where the formula was read
  std::string name;    // its name in tables and charts; empty: its text
};

}  // namespace roformer
