// The sum of the flat gradient over several processes, in buckets. A bucket goes on its way as soon
// as the backward pass has written all of it, while the pass goes on with the others: hooks of the
// parameters tell. The order of the buckets is that of the layers from the last to the first,
// whenever their gradients are ready, so that all processes send the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/parameters.h"
#include "training/distributed/processes.h"

namespace roformer {

class GradientBuckets {
 public:
  // `size`: numbers of a bucket. All must outlive it.
  GradientBuckets(Processes& processes, const ParameterStore& parameters, std::int64_t size);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // The backward pass that follows is the step's last one in this process.
  void watch();
  // After it: sends what it has not come to. Every process's gradient is the sum after wait().
  void begin_rest();
  void wait();

 private:
  class Hook;
  struct Bucket {
    at::Tensor values;            // [at most size], of the flat gradient
    int depth = 0;                // of its first layer
    std::int64_t parameters = 0;  // that lie in it
    std::int64_t missing = 0;     // of them, in the pass that is watched
  };

  Processes& processes_;
  std::vector<Bucket> buckets_;      // in the order of their sending
  std::vector<at::Tensor> watched_;  // parameters with a hook
  std::size_t begun_ = 0;            // of the buckets
  bool watching_ = false;
  std::vector<std::unique_ptr<PendingExchange>> pending_;

  void begin_next();
  void written(const std::vector<std::size_t>& buckets);
};

}  // namespace roformer
