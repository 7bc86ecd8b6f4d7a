// A formula over positions, such as `-slope[h] * log(1 + rate[h] * abs(i - j))`, as a typed tree.
// Each node knows which variables it depends on, so an evaluator can recognise constant nodes and
// functions of the distance i - j. Operators by precedence, loosest first: or; and; not; < <= > >=
// == !=; + -; * / %; unary - +; ^ (right-associative).
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer {

enum class FormulaType { boolean, integer, number };

enum class FormulaOperation {
  number,     // node.number
  variable,   // node.name
  parameter,  // FormulaNames::parameters[node.parameter]; argument: index of a table
  negate,
  logical_not,
  logical_or,
  logical_and,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  add,
  subtract,
  multiply,
  divide,
  remainder,  // of a division rounded down
  power,
  absolute,
  logarithm,
  binary_logarithm,
  exponential,
  square_root,
  sine,
  cosine,
  tangent_hyperbolic,
  sigmoid,
  floor,
  ceiling,
  minimum,
  maximum,
  clamp,
  where,
  sum  // sum of the last argument over the variable node.name from the first to the second argument
};

// The variables and properties that a node's value depends on.
struct FormulaUses {
  bool query = false, key = false;  // i, j
  bool head = false, layer = false;
  bool length = false;
  bool score = false;
  bool trained = false;
  std::vector<std::string> bound;  // variables of the enclosing sums
  // Whether the node is a * i + b * j + c; if so, the members below hold a and b.
  bool linear = true;
  double query_factor = 0, key_factor = 0;
  // Whether the node is a function of i - j alone or of neither i nor j.
  bool by_distance = true;

  bool pairs() const { return query || key; }
  bool constant() const { return !score && !trained; }
};

struct FormulaNode {
  FormulaOperation operation = FormulaOperation::number;
  double number = 0;
  std::string name;
  std::size_t parameter = 0;
  std::vector<FormulaNode> arguments;
  FormulaType type = FormulaType::number;
  FormulaUses uses;
  std::size_t column = 0;  // column in the text, from 0
};

// An error in a formula, with its column.
struct FormulaError : std::runtime_error {
  FormulaError(std::size_t at, const std::string& message, std::string way_out = "")
      : std::runtime_error(message), column(at), hint(std::move(way_out)) {}
  std::size_t column;  // from 0
  std::string hint;

  // Returns "column 14: MESSAGE (hint: HINT)", the text, and a caret under the column.
  std::string shown(std::string_view text) const;
};

// The name of a parameter and its permitted use.
struct FormulaParameterName {
  std::string name;
  bool of_head = false, of_layer = false, table = false, trained = true;
};
struct FormulaNames {
  std::vector<std::string>
      variables;  // a subset of i, j, h, layer, length, heads, layers, score, index, size
  std::vector<FormulaParameterName> parameters;
};

// Throws FormulaError unless the text is a formula that uses only these names.
FormulaNode parse_formula(std::string_view text, const FormulaNames& names);

// Whether a name has a meaning in every formula. Parameters and variables of sums must not use such
// a name.
bool is_formula_word(std::string_view name);

// Evaluates a formula that uses no score; true is 1. `variable` returns the values of all variables
// except those of sums; `parameter` returns those of parameters (at an index of a table, else 0).
struct FormulaValues {
  std::function<double(const std::string& name)> variable;
  std::function<double(std::size_t parameter, double index)> parameter;
};
double evaluate_formula(const FormulaNode& node, const FormulaValues& values);

// The range of a sum, from first to last. Its bounds may use neither i, j, h nor parameters.
struct FormulaTerms {
  long first = 0, last = -1;
};
FormulaTerms sum_terms(const FormulaNode& sum, const FormulaValues& values);

}  // namespace roformer
