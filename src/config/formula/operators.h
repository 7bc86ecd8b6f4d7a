// The operators and functions of formulas in one table: their syntax, argument types, result types
// and computation. The computation is the same for numbers (config) and for tensors
// (position/formula_values.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "config/formula/expression.h"

namespace roformer {

// The type of an operator's result.
enum class FormulaResult {
  condition,
  integer,
  kept,  // an integer if all arguments are integers
  number
};

// How tightly an operator binds its arguments; `call`: a function with parentheses.
enum class FormulaLevel { either, both, negation, comparison, sum, product, sign, power, call };

struct FormulaSyntax {
  FormulaOperation operation = FormulaOperation::number;
  std::string_view text;  // between or before the arguments, or the function's name
  std::size_t arguments = 1;
  FormulaResult result = FormulaResult::number;
  FormulaLevel level = FormulaLevel::call;

  bool takes_conditions() const {
    return level == FormulaLevel::either || level == FormulaLevel::both ||
           level == FormulaLevel::negation;
  }
};

template <class Function>
struct FormulaOperator {
  FormulaSyntax syntax;
  Function apply;  // called with (math, arguments)
};

namespace formula_operators {

// The functions for numbers that LibTorch offers for tensors under the same names.
using std::abs, std::ceil, std::cos, std::exp, std::floor, std::log, std::log2, std::sin, std::sqrt,
    std::tanh;
inline double logical_not(double x) {
  return x == 0;
}
inline double logical_or(double x, double y) {
  return x != 0 || y != 0;
}
inline double logical_and(double x, double y) {
  return x != 0 && y != 0;
}
inline double remainder(double x, double y) {  // of a division rounded down
  return x - y * std::floor(x / y);
}
inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
inline double where(double condition, double x, double y) {
  return condition != 0 ? x : y;
}

using Op = FormulaOperation;
using Result = FormulaResult;
using Level = FormulaLevel;

// `x` is a vector of numbers or of tensors. `math` has the operations that differ between numbers
// and tensors: power, lesser and greater.
inline constexpr std::tuple kAll{
    FormulaOperator{{Op::logical_or, "or", 2, Result::condition, Level::either},
                    [](auto, const auto& x) { return logical_or(x[0], x[1]); }},
    FormulaOperator{{Op::logical_and, "and", 2, Result::condition, Level::both},
                    [](auto, const auto& x) { return logical_and(x[0], x[1]); }},
    FormulaOperator{{Op::logical_not, "not", 1, Result::condition, Level::negation},
                    [](auto, const auto& x) { return logical_not(x[0]); }},
    FormulaOperator{{Op::less, "<", 2, Result::condition, Level::comparison},
                    [](auto, const auto& x) { return x[0] < x[1]; }},
    FormulaOperator{{Op::less_equal, "<=", 2, Result::condition, Level::comparison},
                    [](auto, const auto& x) { return x[0] <= x[1]; }},
    FormulaOperator{{Op::greater, ">", 2, Result::condition, Level::comparison},
                    [](auto, const auto& x) { return x[0] > x[1]; }},
    FormulaOperator{{Op::greater_equal, ">=", 2, Result::condition, Level::comparison},
                    [](auto, const auto& x) { return x[0] >= x[1]; }},
    FormulaOperator{{Op::equal, "==", 2, Result::condition, Level::comparison},
                    [](auto, const auto& x) { return x[0] == x[1]; }},
    FormulaOperator{{Op::not_equal, "!=", 2, Result::condition, Level::comparison},
                    [](auto, const auto& x) { return x[0] != x[1]; }},
    FormulaOperator{{Op::add, "+", 2, Result::kept, Level::sum},
                    [](auto, const auto& x) { return x[0] + x[1]; }},
    FormulaOperator{{Op::subtract, "-", 2, Result::kept, Level::sum},
                    [](auto, const auto& x) { return x[0] - x[1]; }},
    FormulaOperator{{Op::multiply, "*", 2, Result::kept, Level::product},
                    [](auto, const auto& x) { return x[0] * x[1]; }},
    FormulaOperator{{Op::divide, "/", 2, Result::number, Level::product},
                    [](auto, const auto& x) { return x[0] / x[1]; }},
    FormulaOperator{{Op::remainder, "%", 2, Result::kept, Level::product},
                    [](auto, const auto& x) { return remainder(x[0], x[1]); }},
    FormulaOperator{{Op::negate, "-", 1, Result::kept, Level::sign},
                    [](auto, const auto& x) { return -x[0]; }},
    FormulaOperator{{Op::power, "^", 2, Result::number, Level::power},
                    [](auto math, const auto& x) { return math.power(x[0], x[1]); }},
    FormulaOperator{{Op::absolute, "abs", 1, Result::kept},
                    [](auto, const auto& x) { return abs(x[0]); }},
    FormulaOperator{{Op::logarithm, "log"}, [](auto, const auto& x) { return log(x[0]); }},
    FormulaOperator{{Op::binary_logarithm, "log2"}, [](auto, const auto& x) { return log2(x[0]); }},
    FormulaOperator{{Op::exponential, "exp"}, [](auto, const auto& x) { return exp(x[0]); }},
    FormulaOperator{{Op::square_root, "sqrt"}, [](auto, const auto& x) { return sqrt(x[0]); }},
    FormulaOperator{{Op::sine, "sin"}, [](auto, const auto& x) { return sin(x[0]); }},
    FormulaOperator{{Op::cosine, "cos"}, [](auto, const auto& x) { return cos(x[0]); }},
    FormulaOperator{{Op::tangent_hyperbolic, "tanh"},
                    [](auto, const auto& x) { return tanh(x[0]); }},
    FormulaOperator{{Op::sigmoid, "sigmoid"}, [](auto, const auto& x) { return sigmoid(x[0]); }},
    FormulaOperator{{Op::floor, "floor", 1, Result::integer},
                    [](auto, const auto& x) { return floor(x[0]); }},
    FormulaOperator{{Op::ceiling, "ceil", 1, Result::integer},
                    [](auto, const auto& x) { return ceil(x[0]); }},
    FormulaOperator{{Op::minimum, "min", 2, Result::kept},
                    [](auto math, const auto& x) { return math.lesser(x[0], x[1]); }},
    FormulaOperator{{Op::maximum, "max", 2, Result::kept},
                    [](auto math, const auto& x) { return math.greater(x[0], x[1]); }},
    FormulaOperator{
        {Op::clamp, "clamp", 3, Result::kept},
        [](auto math, const auto& x) { return math.lesser(math.greater(x[0], x[1]), x[2]); }},
    FormulaOperator{{Op::where, "where", 3, Result::kept},
                    [](auto, const auto& x) { return where(x[0], x[1], x[2]); }},
    // The evaluators compute a sum term by term, because its first argument is a name.
    FormulaOperator{{Op::sum, "sum", 4, Result::kept}, [](auto, const auto& x) { return x[0]; }}};

}  // namespace formula_operators

inline constexpr std::array kFormulaSyntax = std::apply(
    [](const auto&... each) { return std::array{each.syntax...}; }, formula_operators::kAll);

// Applies one operation to numbers or tensors.
template <class Value, class Math>
Value apply_formula(FormulaOperation operation, const Math& math, const std::vector<Value>& x) {
  Value result{};
  const bool found = std::apply(
      [&](const auto&... each) {
        return (
            (each.syntax.operation == operation && (result = Value(each.apply(math, x)), true)) ||
            ...);
      },
      formula_operators::kAll);
  ROFORMER_ASSERT(found);
  return result;
}

// Returns the syntax of no operator for a number, a variable or a parameter; its result is a
// number.
const FormulaSyntax& formula_syntax(FormulaOperation operation);
// Returns nullptr for an unknown name.
const FormulaSyntax* find_formula_function(std::string_view name);
std::vector<std::string> formula_function_names();  // abs, log, .., sum

// Sets node.type and node.uses from the arguments, whose types are known. Throws FormulaError if an
// argument has a type that the operation does not take.
void type_formula(FormulaNode& node);

}  // namespace roformer
