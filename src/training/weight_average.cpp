#include "training/weight_average.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"
#include "tensor/aten.h"

namespace roformer {

double average_decay(double decay, std::int64_t step) {
  const auto t = static_cast<double>(step);
  return std::min(decay, (1 + t) / (10 + t));
}

WeightAverage::WeightAverage(ParameterStore& parameters, double decay, Processes* in_parts)
    : parameters_(parameters), decay_(decay), processes_(in_parts) {
  const at::Tensor flat = parameters.flat_values();
  ROFORMER_ASSERT(decay > 0 && decay < 1 && flat.defined());
  if (processes_ != nullptr) parts_.emplace(flat.numel(), processes_->count());
  values_ = own(flat).detach().clone();
}

at::Tensor WeightAverage::own(const at::Tensor& values) const {
  if (processes_ == nullptr) return values;
  const std::int64_t rank = processes_->rank();
  return values.narrow(0, parts_->begin(rank), parts_->size(rank));
}

void WeightAverage::update(std::int64_t step) {
  const at::NoGradGuard no_gradient;
  values_.lerp_(own(parameters_.flat_values()), 1 - average_decay(decay_, step));
}

at::Tensor WeightAverage::values() const {
  if (processes_ == nullptr) return values_;
  const bool wanted = processes_->first();
  const at::Tensor whole = wanted ? at::empty_like(parameters_.flat_values()) : at::Tensor();
  parts_->gather(*processes_, whole, values_, wanted);
  return whole;
}

void WeightAverage::restore(const at::Tensor& values, Processes& processes) {
  if (processes_ == nullptr) {
    if (processes.first() && !values.is_same(values_)) values_.copy_(values);
    processes.take_from_first(values_);
  } else {
    parts_->spread(processes, values, values_);
  }
}

void WeightAverage::write_to(const at::Tensor& values) const {
  if (processes_ == nullptr) {
    values.copy_(values_);
  } else {
    parts_->gather(*processes_, values, values_);
  }
}

WeightAverage::Loan::Loan(const WeightAverage& average)
    : parameters_(average.parameters_), own_(parameters_.flat_values().detach().clone()) {
  const at::NoGradGuard no_gradient;
  average.write_to(parameters_.flat_values());  // shares the storage
  parameters_.apply_constraints();
}

WeightAverage::Loan::~Loan() {
  const at::NoGradGuard no_gradient;
  at::Tensor values = parameters_.flat_values();
  values.copy_(own_);
}

}  // namespace roformer
