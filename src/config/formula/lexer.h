// The words of a formula: numbers, names and signs, each with where it stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

struct FormulaToken {
  enum class Kind { number, name, sign, end };
  Kind kind = Kind::end;
  std::string text;
  double number = 0;
  std::size_t column = 0;  // from 0
};

// The last one is the end. Throws FormulaError for a sign or a number that is none.
std::vector<FormulaToken> formula_tokens(std::string_view text);

}  // namespace roformer
