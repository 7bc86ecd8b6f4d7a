// AdamW over the flat parameter buffers: gradient norm, clipping, loss normalisation, the check for
// non-finite numbers and the update, in two passes over memory. On a GPU nothing waits for the
// device: norm and decision stay there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tensor/parameters.h"

namespace roformer {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // decoupled; only for ranges that decay
  double layer_decay = 1;      // factor of the learning rate per layer below the deepest range
};

struct OptimizerStep {
  double learning_rate = 0;
  double targets = 1;  // the gradient is of a loss summed over this many targets
  double clip = 0;     // largest norm of the mean gradient; 0: no clipping
  at::Tensor loss;     // scalar on the parameters' device; a non-finite one skips the step
};

struct OptimizerOutcome {
  at::Tensor gradient_norm;  // [] double, of the mean gradient before clipping
  at::Tensor skipped;        // [] bool: loss or gradient was not finite, nothing was updated
};

class AdamW {
 public:
  // The parameters must be flat and must outlive the optimiser.
  AdamW(ParameterStore& parameters, const AdamWOptions& options);

  // One update from the flat gradient, which is zero afterwards.
  OptimizerOutcome step(const OptimizerStep& step);

  // Updates made, skipped ones not counted; waits for the device.
  std::int64_t updates() const;
  void restore_updates(std::int64_t updates);

  // [trained numbers], as flat_values(); a checkpoint stores them.
  const at::Tensor& first_moments() const { return first_; }
  const at::Tensor& second_moments() const { return second_; }

  // False where a parameter or a moment is infinite or not a number, from which no update leads
  // back; waits for the device.
  bool is_finite() const;

 private:
  ParameterStore& parameters_;
  AdamWOptions options_;
  at::Tensor first_;
  at::Tensor second_;
  at::Tensor updates_;               // [] float, on the device
  std::vector<double> rate_shares_;  // of each range, from layer_decay

  OptimizerOutcome step_on_cpu(const OptimizerStep& step);
  OptimizerOutcome step_on_device(const OptimizerStep& step);
  template <typename T>
  void update_on_cpu(const OptimizerStep& step, double gradient_scale);
};

// The Euclidean norm of a contiguous CPU tensor, summed in double in an order that does not depend
// on the number of threads.
double norm_on_cpu(const at::Tensor& values);

}  // namespace roformer
