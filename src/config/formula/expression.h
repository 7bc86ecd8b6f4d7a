// A formula over positions, `-slope[h] * log(1 + rate[h] * abs(i - j))`, as a tree: parsed once,
// typed, and with what each part of it depends on, so that whoever evaluates it knows which parts
// are constant and which are functions of the distance i - j alone. Operators by precedence, the
// loosest first: or; and; not; < <= > >= == !=; + -; * / %; unary - +; ^ (to the right).
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
  parameter,  // number node.parameter of those that the parser was given; argument: a table's index
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
  sum  // of the last argument over the variable node.name from the first to the second
};

// What the value of a part depends on.
struct FormulaUses {
  bool query = false, key = false;  // i, j
  bool head = false, layer = false;
  bool length = false;
  bool score = false;
  bool trained = false;
  std::vector<std::string> bound;  // variables of sums around it
  // A sum of multiples of i and j and what depends on neither; then their factors.
  bool linear = true;
  double query_factor = 0, key_factor = 0;
  // A function of i - j alone (or of neither i nor j).
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
  std::size_t column = 0;  // where it stands in the text, from 0
};

// What is wrong with a formula and where.
struct FormulaError : std::runtime_error {
  FormulaError(std::size_t at, const std::string& message, std::string way_out = "")
      : std::runtime_error(message), column(at), hint(std::move(way_out)) {}
  std::size_t column;  // from 0
  std::string hint;

  // "column 14: MESSAGE (hint: HINT)", below it the text and a caret under the column.
  std::string shown(std::string_view text) const;
};

// How a name may be used.
struct FormulaParameterName {
  std::string name;
  bool of_head = false, of_layer = false, table = false, trained = true;
};
struct FormulaNames {
  std::vector<std::string>
      variables;  // of i, j, h, layer, length, heads, layers, score, index, size
  std::vector<FormulaParameterName> parameters;
};

// Throws FormulaError for what is no formula of these names.
FormulaNode parse_formula(std::string_view text, const FormulaNames& names);

// Names that mean something in every formula, which no parameter and no sum's variable may have.
bool is_formula_word(std::string_view name);

// The value of a formula that uses no score; true is 1. `variable` answers for variables other than
// those of sums, `parameter` for parameters (and the index in a table, else 0).
struct FormulaValues {
  std::function<double(const std::string& name)> variable;
  std::function<double(std::size_t parameter, double index)> parameter;
};
double evaluate_formula(const FormulaNode& node, const FormulaValues& values);

// first .. last of a sum, whose bounds use none of i, j, h and no parameter.
struct FormulaTerms {
  long first = 0, last = -1;
};
FormulaTerms sum_terms(const FormulaNode& sum, const FormulaValues& values);

}  // namespace roformer
