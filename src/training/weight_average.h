// An exponential moving average of the trained weights (Polyak averaging with a decay), kept over
// the flat buffer beside them: average = d * average + (1 - d) * weights after every step. The
// decay of step t, counted from 1, is min(decay, (1 + t) / (10 + t)), so that a young average
// follows its weights (TensorFlow's and Marian's rule). It is a function of the step alone: a
// training that is resumed has bitwise the average of one that was not.
//
// Where the optimiser is in parts, so is the average: each process keeps it of its own part of the
// buffer, and the parts are put together to validate with it and to store it.
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
  // Begins at the present weights. They must be flat and outlive it.
  WeightAverage(ParameterStore& parameters, double decay);
  // Each process keeps one part. The processes must outlive it and make the same calls.
  WeightAverage(ParameterStore& parameters, double decay, Processes& processes);

  // Takes the weights as they are behind step `step`, counted from 1.
  void update(std::int64_t step);

  // [trained numbers], as flat_values(). In parts they are put together for the first process; the
  // others get nothing.
  at::Tensor values() const;
  // Takes over what the first of the processes has in `values` [trained numbers].
  void restore(const at::Tensor& values, Processes& processes);

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
  Processes* processes_ = nullptr;  // in parts
  std::optional<FlatParts> parts_;
  at::Tensor values_;  // [end - begin]

  WeightAverage(ParameterStore& parameters, double decay, Processes* processes);
  // Of the flat buffer, what is averaged here.
  at::Tensor own(const at::Tensor& values) const;
  void write_to(const at::Tensor& values) const;
};

}  // namespace roformer
