#include "training/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/lerp.h>

#include <algorithm>

#include "base/error.h"

namespace roformer {
namespace {

void fill(ParameterStore& parameters, const at::Tensor& values) {
  const at::NoGradGuard no_gradient;
  at::Tensor target = parameters.flat_values();  // shares the storage
  target.copy_(values);
}

}  // namespace

double average_decay(double decay, std::int64_t step) {
  const auto t = static_cast<double>(step);
  return std::min(decay, (1 + t) / (10 + t));
}

WeightAverage::WeightAverage(ParameterStore& parameters, double decay)
    : parameters_(parameters), decay_(decay) {
  ROFORMER_ASSERT(decay > 0 && decay < 1 && parameters.flat_values().defined());
  restart();
}

void WeightAverage::restart() {
  values_ = parameters_.flat_values().detach().clone();
}

void WeightAverage::update(std::int64_t step) {
  const at::NoGradGuard no_gradient;
  values_.lerp_(parameters_.flat_values(), 1 - average_decay(decay_, step));
}

WeightAverage::Loan::Loan(const WeightAverage& average)
    : parameters_(average.parameters_), own_(parameters_.flat_values().detach().clone()) {
  fill(parameters_, average.values_);
  parameters_.apply_constraints();
}

WeightAverage::Loan::~Loan() {
  fill(parameters_, own_);
}

}  // namespace roformer
