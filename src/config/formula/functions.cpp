#include "config/formula/functions.h"

#include <algorithm>
#include <array>

namespace roformer {
namespace {

using Op = FormulaOperation;

constexpr std::array<FormulaFunction, 16> kFunctions{{{"abs", Op::absolute, 1},
                                                      {"log", Op::logarithm, 1},
                                                      {"log2", Op::binary_logarithm, 1},
                                                      {"exp", Op::exponential, 1},
                                                      {"sqrt", Op::square_root, 1},
                                                      {"sin", Op::sine, 1},
                                                      {"cos", Op::cosine, 1},
                                                      {"tanh", Op::tangent_hyperbolic, 1},
                                                      {"sigmoid", Op::sigmoid, 1},
                                                      {"floor", Op::floor, 1},
                                                      {"ceil", Op::ceiling, 1},
                                                      {"min", Op::minimum, 2},
                                                      {"max", Op::maximum, 2},
                                                      {"clamp", Op::clamp, 3},
                                                      {"where", Op::where, 3},
                                                      {"sum", Op::sum, 4}}};

bool is_logic(Op operation) {
  return operation == Op::logical_not || operation == Op::logical_or ||
         operation == Op::logical_and;
}

bool is_comparison(Op operation) {
  return operation >= Op::less && operation <= Op::not_equal;
}

void expect(const FormulaNode& argument, bool boolean) {
  if ((argument.type == FormulaType::boolean) == boolean) return;
  throw FormulaError(
      argument.column,
      boolean ? "a number where a condition is wanted" : "a condition where a number is wanted",
      boolean ? "a comparison, for instance i - j < 16" : "where(condition, number, number)");
}

FormulaType type_of(const FormulaNode& node) {
  const Op op = node.operation;
  if (is_logic(op) || is_comparison(op)) return FormulaType::boolean;
  if (op == Op::floor || op == Op::ceiling) return FormulaType::integer;
  const bool keeps = op == Op::negate || op == Op::add || op == Op::subtract ||
                     op == Op::multiply || op == Op::remainder || op == Op::absolute ||
                     op == Op::minimum || op == Op::maximum || op == Op::clamp || op == Op::where ||
                     op == Op::sum;
  if (!keeps) return FormulaType::number;
  const auto first = node.arguments.begin() + (op == Op::where ? 1 : op == Op::sum ? 2 : 0);
  const bool integers = std::all_of(first, node.arguments.end(), [](const FormulaNode& argument) {
    return argument.type == FormulaType::integer;
  });
  return integers ? FormulaType::integer : FormulaType::number;
}

void take_uses(FormulaUses& uses, const FormulaUses& argument) {
  uses.query |= argument.query;
  uses.key |= argument.key;
  uses.head |= argument.head;
  uses.layer |= argument.layer;
  uses.length |= argument.length;
  uses.score |= argument.score;
  uses.trained |= argument.trained;
  uses.by_distance &= argument.by_distance;
  for (const std::string& name : argument.bound) {
    if (std::find(uses.bound.begin(), uses.bound.end(), name) == uses.bound.end()) {
      uses.bound.push_back(name);
    }
  }
}

// i - j + 1 or 2 * i: what else than a sum of multiples is there, `by_distance` says.
void take_factors(FormulaNode& node) {
  FormulaUses& uses = node.uses;
  if (!uses.pairs()) return;
  const auto& arguments = node.arguments;
  const auto factors = [&](double query, double key) {
    uses.query_factor = query;
    uses.key_factor = key;
    uses.by_distance = query == -key;
  };
  uses.linear = false;
  const Op op = node.operation;
  const bool linear = std::all_of(arguments.begin(), arguments.end(),
                                  [](const FormulaNode& a) { return a.uses.linear; });
  if (!linear) return;
  if (is_comparison(op)) {  // i < j is i - j < 0
    const FormulaUses &left = arguments[0].uses, &right = arguments[1].uses;
    uses.by_distance = left.query_factor - right.query_factor == right.key_factor - left.key_factor;
  } else if (op == Op::negate) {
    uses.linear = true;
    factors(-arguments[0].uses.query_factor, -arguments[0].uses.key_factor);
  } else if (op == Op::add || op == Op::subtract) {
    const double sign = op == Op::add ? 1 : -1;
    uses.linear = true;
    factors(arguments[0].uses.query_factor + sign * arguments[1].uses.query_factor,
            arguments[0].uses.key_factor + sign * arguments[1].uses.key_factor);
  } else if (op == Op::multiply) {
    for (const std::size_t side : {0, 1}) {
      if (arguments[side].operation != Op::number) continue;
      const FormulaUses& other = arguments[1 - side].uses;
      uses.linear = true;
      factors(arguments[side].number * other.query_factor,
              arguments[side].number * other.key_factor);
    }
  }
}

}  // namespace

const FormulaFunction* find_formula_function(std::string_view name) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const FormulaFunction& f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

std::vector<std::string> formula_function_words() {
  std::vector<std::string> names;
  for (const FormulaFunction& function : kFunctions) names.emplace_back(function.name);
  return names;
}

std::string formula_function_names() {
  std::string names;
  for (const std::string& name : formula_function_words()) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

void type_formula(FormulaNode& node) {
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const bool condition = is_logic(node.operation) || (node.operation == Op::where && i == 0);
    expect(node.arguments[i], condition);
    take_uses(node.uses, node.arguments[i].uses);
  }
  if (node.arguments.empty()) return;
  node.type = type_of(node);
  take_factors(node);
}

}  // namespace roformer
