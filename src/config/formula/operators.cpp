#include "config/formula/operators.h"

#include <cstdint>
#include <map>

namespace roformer {
namespace {

using Op = FormulaOperation;

void expect(const FormulaNode& argument, bool boolean) {
  if ((argument.type == FormulaType::boolean) == boolean) return;
  throw FormulaError(
      argument.column,
      boolean ? "a number where a condition is wanted" : "a condition where a number is wanted",
      boolean ? "a comparison, for instance i - j < 16" : "where(condition, number, number)");
}

FormulaType type_of(const FormulaNode& node) {
  const FormulaResult result = formula_syntax(node.operation).result;
  if (result == FormulaResult::condition) return FormulaType::boolean;
  if (result == FormulaResult::integer) return FormulaType::integer;
  if (result == FormulaResult::number) return FormulaType::number;
  // The uses of `where`'s condition and of `sum`'s bounds do not count.
  const Op op = node.operation;
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
    if (std::ranges::find(uses.bound, name) == uses.bound.end()) {
      uses.bound.push_back(name);
    }
  }
}

// Computes the factors of i and j in a linear node, such as i - j + 1 or 2 * i. Any other node
// keeps the `by_distance` of its arguments.
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
  const bool linear =
      std::ranges::all_of(arguments, [](const FormulaNode& a) { return a.uses.linear; });
  if (!linear) return;
  if (formula_syntax(op).level == FormulaLevel::comparison) {  // i < j means i - j < 0
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

struct NumberMath {
  static double power(double base, double exponent) {
    return base == 2 ? std::exp2(exponent) : std::pow(base, exponent);
  }
  static double lesser(double x, double y) { return std::min(x, y); }
  static double greater(double x, double y) { return std::max(x, y); }
};

class Evaluation {
 public:
  explicit Evaluation(const FormulaValues& values) : values_(values) {}

  double of(const FormulaNode& node) {
    constexpr std::int64_t kMost = 4'000'000;  // counts nested sums too
    if (++steps_ > kMost) throw FormulaError(node.column, "sums of too many terms together");
    switch (node.operation) {
      case Op::number:
        return node.number;
      case Op::variable: {
        const auto bound = sums_.find(node.name);
        return bound != sums_.end() ? bound->second : values_.variable(node.name);
      }
      case Op::parameter:
        return values_.parameter(node.parameter,
                                 node.arguments.empty() ? 0 : of(node.arguments[0]));
      case Op::sum:
        return sum(node);
      case Op::where:  // the branch that is not taken need not have a value
        return of(node.arguments[of(node.arguments[0]) != 0 ? 1 : 2]);
      default:
        break;
    }
    std::vector<double> arguments;
    for (const FormulaNode& argument : node.arguments) arguments.push_back(of(argument));
    return apply_formula(node.operation, NumberMath(), arguments);
  }

  FormulaTerms terms(const FormulaNode& node) {
    constexpr double kMost = 65536;
    const double first = of(node.arguments[0]), last = of(node.arguments[1]);
    if (!(std::abs(first) < 1e9 && std::abs(last) < 1e9 && last - first < kMost)) {
      throw FormulaError(node.column, "a sum of more than 65,536 terms");
    }
    return {.first = static_cast<long>(first), .last = static_cast<long>(last)};
  }

 private:
  const FormulaValues& values_;
  std::int64_t steps_ = 0;
  std::map<std::string, double> sums_;

  double sum(const FormulaNode& node) {
    const FormulaTerms range = terms(node);
    double total = 0;
    for (long t = range.first; t <= range.last; ++t) {
      sums_[node.name] = static_cast<double>(t);
      total += of(node.arguments[2]);
    }
    sums_.erase(node.name);
    return total;
  }
};

}  // namespace

const FormulaSyntax& formula_syntax(Op operation) {
  const auto found = std::ranges::find(kFormulaSyntax, operation, &FormulaSyntax::operation);
  static constexpr FormulaSyntax kNoOperator;
  return found == kFormulaSyntax.end() ? kNoOperator : *found;
}

const FormulaSyntax* find_formula_function(std::string_view name) {
  const auto found = std::ranges::find_if(kFormulaSyntax, [&](const FormulaSyntax& syntax) {
    return syntax.level == FormulaLevel::call && syntax.text == name;
  });
  return found == kFormulaSyntax.end() ? nullptr : found;
}

std::vector<std::string> formula_function_names() {
  std::vector<std::string> names;
  for (const FormulaSyntax& syntax : kFormulaSyntax) {
    if (syntax.level == FormulaLevel::call) names.emplace_back(syntax.text);
  }
  return names;
}

void type_formula(FormulaNode& node) {
  if (node.arguments.empty()) return;
  const bool takes_conditions = formula_syntax(node.operation).takes_conditions();
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const bool condition = node.operation == Op::where ? i == 0 : takes_conditions;
    expect(node.arguments[i], condition);
    take_uses(node.uses, node.arguments[i].uses);
  }
  node.type = type_of(node);
  take_factors(node);
}

double evaluate_formula(const FormulaNode& node, const FormulaValues& values) {
  return Evaluation(values).of(node);
}

FormulaTerms sum_terms(const FormulaNode& sum, const FormulaValues& values) {
  return Evaluation(values).terms(sum);
}

}  // namespace roformer
