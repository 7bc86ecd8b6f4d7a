// The functions that formulas may call, and the types that operations take and give.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/formula/expression.h"

namespace roformer {

struct FormulaFunction {
  std::string_view name;
  FormulaOperation operation = FormulaOperation::number;
  std::size_t arguments = 1;
};

// nullptr for an unknown name. `sum` is no function of this table: its first argument is a name.
const FormulaFunction* find_formula_function(std::string_view name);
// "abs, ceil, ..., sum"
std::string formula_function_names();
std::vector<std::string> formula_function_words();

// Sets node.type and node.uses from its arguments, which are typed. Throws FormulaError where an
// argument has another type than the operation takes.
void type_formula(FormulaNode& node);

}  // namespace roformer
