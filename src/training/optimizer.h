// AdamW over the flat parameter buffers: gradient norm, clipping, loss normalisation, the check for
// non-finite numbers and the update, in two passes over memory. On a GPU, norm and decision stay on
// the device, so that the host does not wait for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/flat_parts.h"

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
  at::Tensor loss;     // scalar on the parameters' device; a non-finite loss skips the step
};

struct OptimizerOutcome {
  at::Tensor gradient_norm;  // [] double, of the mean gradient before clipping
  at::Tensor skipped;        // [] bool: loss or gradient was not finite, nothing was updated
};

// The moments of all trained numbers, laid out as flat_values(); a checkpoint stores them.
struct Moments {
  at::Tensor first;   // [trained numbers]
  at::Tensor second;  // [trained numbers]
};

class AdamW {
 public:
  // The parameters must be flat and must outlive the optimiser. With `in_parts`, which must also
  // outlive it, each process keeps and updates one part and gets the other parts after each step.
  // All processes then make the same calls, only on CPUs.
  AdamW(ParameterStore& parameters, const AdamWOptions& options, Processes* in_parts = nullptr);

  // One update from the flat gradient (this process's part of it), which is zero afterwards.
  OptimizerOutcome step(const OptimizerStep& step);

  // The number of updates, without skipped ones. Waits for the device.
  std::int64_t updates() const;
  void restore_updates(std::int64_t updates);

  // The moments of all parts. If the optimiser is in parts, only the first process gets them.
  Moments moments() const;
  // Tensors for reading stored moments, on the same processes.
  Moments room_for_moments() const;
  // Takes the moments that the first process has read into those tensors.
  void restore_moments(const Moments& moments, Processes& processes);

  // False if a parameter or a moment is infinite or NaN, since no update can repair it. Waits for
  // the device. All processes get the same answer.
  bool is_finite() const;

 private:
  ParameterStore& parameters_;
  AdamWOptions options_;
  Processes* processes_ = nullptr;  // set if the optimiser is in parts
  std::optional<FlatParts> parts_;
  std::int64_t begin_ = 0;  // of this process's part of the flat buffers
  std::int64_t end_ = 0;
  at::Tensor first_;                 // [end - begin]
  at::Tensor second_;                // [end - begin]
  at::Tensor updates_;               // [] float, on the device
  std::vector<double> rate_shares_;  // of each range, from layer_decay

  double gradient_norm_on_cpu() const;
  OptimizerOutcome step_on_cpu(const OptimizerStep& step);
  OptimizerOutcome step_by_kernels(const OptimizerStep& step);
  OptimizerOutcome step_composed(const OptimizerStep& step);
  template <typename T>
  void update_on_cpu(const OptimizerStep& step, double gradient_scale);
};

// The Euclidean norm of a contiguous CPU tensor, summed in double. The order of the sum does not
// depend on the number of threads.
double norm_on_cpu(const at::Tensor& values);

}  // namespace roformer
