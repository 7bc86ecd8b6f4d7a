// A formula's value as a number.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "config/formula/expression.h"

namespace roformer {
namespace {

using Op = FormulaOperation;

class Evaluation {
 public:
  explicit Evaluation(const FormulaValues& values) : values_(values) {}

  double of(const FormulaNode& node) {
    constexpr std::int64_t kMost = 4'000'000;  // sums within sums grow beyond all patience
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
      case Op::where:  // the side that is not chosen need have no value
        return of(node.arguments[of(node.arguments[0]) != 0 ? 1 : 2]);
      default:
        break;
    }
    std::vector<double> arguments;
    for (const FormulaNode& argument : node.arguments) arguments.push_back(of(argument));
    return apply_formula(node.operation, arguments);
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

double apply_formula(Op operation, const std::vector<double>& x) {
  switch (operation) {
    case Op::negate:
      return -x[0];
    case Op::logical_not:
      return x[0] == 0;
    case Op::logical_or:
      return x[0] != 0 || x[1] != 0;
    case Op::logical_and:
      return x[0] != 0 && x[1] != 0;
    case Op::less:
      return x[0] < x[1];
    case Op::less_equal:
      return x[0] <= x[1];
    case Op::greater:
      return x[0] > x[1];
    case Op::greater_equal:
      return x[0] >= x[1];
    case Op::equal:
      return x[0] == x[1];
    case Op::not_equal:
      return x[0] != x[1];
    case Op::add:
      return x[0] + x[1];
    case Op::subtract:
      return x[0] - x[1];
    case Op::multiply:
      return x[0] * x[1];
    case Op::divide:
      return x[0] / x[1];
    case Op::remainder:
      return x[0] - x[1] * std::floor(x[0] / x[1]);
    case Op::power:
      return x[0] == 2 ? std::exp2(x[1]) : std::pow(x[0], x[1]);
    case Op::absolute:
      return std::abs(x[0]);
    case Op::logarithm:
      return std::log(x[0]);
    case Op::binary_logarithm:
      return std::log2(x[0]);
    case Op::exponential:
      return std::exp(x[0]);
    case Op::square_root:
      return std::sqrt(x[0]);
    case Op::sine:
      return std::sin(x[0]);
    case Op::cosine:
      return std::cos(x[0]);
    case Op::tangent_hyperbolic:
      return std::tanh(x[0]);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-x[0]));
    case Op::floor:
      return std::floor(x[0]);
    case Op::ceiling:
      return std::ceil(x[0]);
    case Op::minimum:
      return std::min(x[0], x[1]);
    case Op::maximum:
      return std::max(x[0], x[1]);
    case Op::clamp:
      return std::min(std::max(x[0], x[1]), x[2]);
    case Op::where:
      return x[0] != 0 ? x[1] : x[2];
    case Op::number:
    case Op::variable:
    case Op::parameter:
    case Op::sum:
      break;
  }
  ROFORMER_ASSERT(false);
  return 0;
}

double evaluate_formula(const FormulaNode& node, const FormulaValues& values) {
  return Evaluation(values).of(node);
}

FormulaTerms sum_terms(const FormulaNode& sum, const FormulaValues& values) {
  return Evaluation(values).terms(sum);
}

}  // namespace roformer
