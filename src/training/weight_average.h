// An exponential moving average of the trained weights (Polyak averaging with a decay): average = d
// * average + (1 - d) * weights after every step. The decay of step t, counted from 1, is
// min(decay, (1 + t) / (10 + t)), so that a young average follows its weights (the rule of
// TensorFlow and Marian). It depends on the step alone: a resumed training has bitwise the same
// average as an uninterrupted one.
//
// If the optimiser is in parts, so is the average: each process averages its part of the flat
// buffer, and the parts are gathered for validations and checkpoints.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/flat_parts.h"

namespace roformer {

double average_decay(double decay, std::int64_t step);

class WeightAverage {
 public:
  // Begins at the present weights, which must be flat and outlive it. With `in_parts`, which must
  // also outlive it, each process keeps one part and all make the same calls.
  WeightAverage(ParameterStore& parameters, double decay, Processes* in_parts = nullptr);

  // Takes the weights after step `step`, counted from 1.
  void update(std::int64_t step);

  // [trained numbers], laid out as flat_values(), for the first process. If the average is in
  // parts, the others get an undefined tensor.
  at::Tensor values() const;
  // Takes the first process's `values` [trained numbers].
  void restore(const at::Tensor& values, Processes& processes);

  // While it lives, the parameters are the average, within their constraints.
  class Loan {
   public:
    explicit Loan(const WeightAverage& average);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    ParameterStore& parameters_;
    at::Tensor own_;
  };

 private:
  ParameterStore& parameters_;
  double decay_;
  Processes* processes_ = nullptr;  // set if the average is in parts
  std::optional<FlatParts> parts_;
  at::Tensor values_;  // [end - begin]

  // The part of the flat buffer that this process averages.
  at::Tensor own(const at::Tensor& values) const;
  void write_to(const at::Tensor& values) const;
};

}  // namespace roformer
