#include "position/formula_operations.h"

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include "base/error.h"

namespace roformer {

using Op = FormulaOperation;

at::Tensor formula_number(double number) {
  return at::native::wrapped_scalar_tensor(number);
}

bool keeps_result(FormulaOperation operation) {
  switch (operation) {
    case Op::exponential:
    case Op::square_root:
    case Op::tangent_hyperbolic:
    case Op::sigmoid:
    case Op::power:
    case Op::sum:  // of one term: whatever that is
      return true;
    default:
      return false;
  }
}

namespace {

// minimum and maximum give equal arguments half of the gradient each, and bounds should have none:
// at a bound the gradient is the number's.
at::Tensor bounded(const at::Tensor& x, const at::Tensor& bound, bool above) {
  if (bound.dim() == 0 && !bound.requires_grad()) {
    const double limit = bound.item<double>();
    return above ? x.clamp_min(limit) : x.clamp_max(limit);
  }
  return above ? at::maximum(x, bound.to(x.scalar_type()))
               : at::minimum(x, bound.to(x.scalar_type()));
}

at::Tensor lesser(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == 0 ? bounded(b, a, false) : bounded(a, b, false);
}

at::Tensor greater_of(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == 0 ? bounded(b, a, true) : bounded(a, b, true);
}

}  // namespace

at::Tensor apply_formula(Op operation, const std::vector<at::Tensor>& x) {
  switch (operation) {
    case Op::negate:
      return -x[0];
    case Op::logical_not:
      return x[0].logical_not();
    case Op::logical_or:
      return x[0].logical_or(x[1]);
    case Op::logical_and:
      return x[0].logical_and(x[1]);
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
      return at::remainder(x[0], x[1]);
    case Op::power:
      if (x[0].dim() == 0 && !x[0].requires_grad() && x[0].item<double>() == 2) {
        return at::exp2(x[1]);
      }
      return at::pow(x[0], x[1]);
    case Op::absolute:
      return at::abs(x[0]);
    case Op::logarithm:
      return at::log(x[0]);
    case Op::binary_logarithm:
      return at::log2(x[0]);
    case Op::exponential:
      return at::exp(x[0]);
    case Op::square_root:
      return at::sqrt(x[0]);
    case Op::sine:
      return at::sin(x[0]);
    case Op::cosine:
      return at::cos(x[0]);
    case Op::tangent_hyperbolic:
      return at::tanh(x[0]);
    case Op::sigmoid:
      return at::sigmoid(x[0]);
    case Op::floor:
      return at::floor(x[0]);
    case Op::ceiling:
      return at::ceil(x[0]);
    case Op::minimum:
      return lesser(x[0], x[1]);
    case Op::maximum:
      return greater_of(x[0], x[1]);
    case Op::clamp:
      return lesser(greater_of(x[0], x[1]), x[2]);
    case Op::where:
      return at::where(x[0], x[1], x[2]);
    case Op::number:
    case Op::variable:
    case Op::parameter:
    case Op::sum:
      break;
  }
  ROFORMER_ASSERT(false);
  return {};
}

}  // namespace roformer
