// Combines the sums and gradients of several processes into one step. Afterwards every process
// holds the same numbers, bit by bit.
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

// Sums over a step's micro-batches. The gradient of the summed loss is the store's flat gradient.
struct StepSums {
  at::Tensor loss;  // [] on the parameters' device, without a graph
  std::int64_t targets = 0;
  std::int64_t tokens = 0;
};

class StepReduction {
 public:
  virtual ~StepReduction() = default;
  // Call it before this process's last backward pass of the step.
  virtual void begin_last() {}
  // Call it after the backward pass of each micro-batch, with its loss []. The flat gradient holds
  // the sum since the last call.
  virtual void add_micro_batch(const at::Tensor& loss, ParameterStore& parameters) = 0;
  // Call it after the last micro-batch: sums and flat gradient become those over all processes. If
  // the optimiser is in parts, only this process's part of the gradient is defined. `missing` is
  // the number of micro-batches that this process left out because the step is given up. Returns
  // false if any process left one out; sums and gradient are then undefined.
  virtual bool finish(StepSums& sums, ParameterStore& parameters, std::int64_t missing) = 0;
};

struct ReductionSettings {
  GradientReduction order = GradientReduction::fast;
  bool in_parts = false;    // of FlatParts
  std::int64_t bucket = 0;  // numbers of the gradient in one call to the others; 0: bucket_size()
};

// The bucket size for a gradient of `count` numbers: an eighth of it, so that most of it is sent
// during the backward pass, but at least 1 MiB and at most 16 MiB, which fill a connection.
std::int64_t bucket_size(std::int64_t count);

// Null for one process in the fast order, which has nothing to combine.
std::unique_ptr<StepReduction> make_step_reduction(Processes& processes,
                                                   const ParameterStore& parameters,
                                                   const ReductionSettings& settings);

// The sum of the flat gradient over several processes, in buckets. Hooks of the parameters tell
// when the backward pass has written a whole bucket. The bucket is then sent while the pass
// continues. All processes send the buckets in the order of the layers from the last to the first.
class GradientBuckets {
 public:
  // `size`: numbers of a bucket. All must outlive it.
  GradientBuckets(Processes& processes, const ParameterStore& parameters, std::int64_t size);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Announces that the next backward pass is this process's last one in the step.
  void watch();
  // Call it after the pass: sends the remaining buckets. After wait() every process's gradient is
  // the sum.
  void begin_rest();
  void wait();

 private:
  class Hook;
  struct Bucket {
    at::Tensor values;            // [at most size], of the flat gradient
    int depth = 0;                // of its first layer
    std::int64_t parameters = 0;  // with numbers in it
    std::int64_t missing = 0;     // parameters that the watched pass has not reached yet
  };

  Processes& processes_;
  std::vector<Bucket> buckets_;      // in the order in which they are sent
  std::vector<at::Tensor> watched_;  // parameters with a hook
  std::size_t begun_ = 0;            // buckets sent so far
  bool watching_ = false;
  std::vector<std::unique_ptr<PendingExchange>> pending_;

  void begin_next();
  void written(const std::vector<std::size_t>& buckets);
};

}  // namespace roformer
