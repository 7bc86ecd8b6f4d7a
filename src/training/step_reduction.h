// How several processes make one step of what each has computed: sums and gradients become those of
// all. After it every process holds the same numbers, bit by bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/training_settings.h"
#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/flat_parts.h"

namespace roformer {

// What a step's micro-batches come to. The gradient of the sum of losses is the store's flat one.
struct StepSums {
  at::Tensor loss;  // [] on the parameters' device, without a graph
  std::int64_t targets = 0;
  std::int64_t tokens = 0;
};

class StepReduction {
 public:
  virtual ~StepReduction() = default;
  // Before this process's last backward pass of the step.
  virtual void begin_last() {}
  // After the backward pass of each micro-batch, whose loss [] this is; the flat gradient holds
  // what was added to it since the last call.
  virtual void add_micro_batch(const at::Tensor& loss, ParameterStore& parameters) = 0;
  // After the last one: the sums become those of all processes, and so does the flat gradient, or
  // this process's part of it where the optimiser is in parts (the rest is then undefined).
  // `missing`: micro-batches that this process has left out because the step is given up. Returns
  // false where any process left one out: sums and gradient are then undefined.
  virtual bool finish(StepSums& sums, ParameterStore& parameters, std::int64_t missing) = 0;
};

struct ReductionSettings {
  GradientReduction order = GradientReduction::fast;
  bool in_parts = false;    // of FlatParts
  std::int64_t bucket = 0;  // numbers of the gradient in one call to the others; 0: bucket_size()
};

// For a gradient of `count` numbers: an eighth of it, so that most of it is under way while the
// backward pass goes on, but enough to fill a connection (1 MiB) and no more than that needs
// (16 MiB).
std::int64_t bucket_size(std::int64_t count);

// Nothing where there is nothing to do: for one process in the fast order.
std::unique_ptr<StepReduction> make_step_reduction(Processes& processes,
                                                   const ParameterStore& parameters,
                                                   const ReductionSettings& settings);

}  // namespace roformer
