// An exponential moving average of the trained weights (Polyak averaging with a decay), kept over
// the flat buffer beside them: average = d * average + (1 - d) * weights after every step. The
// decay of step t, counted from 1, is min(decay, (1 + t) / (10 + t)), so that a young average
// follows its weights (TensorFlow's and Marian's rule). It is a function of the step alone: a
// training that is resumed has bitwise the average of one that was not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tensor/parameters.h"

namespace roformer {

double average_decay(double decay, std::int64_t step);

class WeightAverage {
 public:
  // Begins at the present weights. They must be flat and outlive it.
  WeightAverage(ParameterStore& parameters, double decay);

  // Takes the weights as they are behind step `step`, counted from 1.
  void update(std::int64_t step);
  // Begins anew at the present weights.
  void restart();

  const at::Tensor& values() const { return values_; }  // [trained numbers], as flat_values()

  // While it lives the parameters are the average, within their constraints; then as before.
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
  at::Tensor values_;
};

}  // namespace roformer
