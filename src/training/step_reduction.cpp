#include "training/step_reduction.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "training/gradient_buckets.h"

namespace roformer {
namespace {

// The losses of all micro-batches in the order of their numbers, and the other sums.
class LossSums {
 public:
  void add(const at::Tensor& loss) { losses_.push_back(loss); }

  // That a step is given up goes with the numbers that are sent anyway, so that asking costs
  // nothing. False where one of the processes misses micro-batches.
  bool finish(Processes& processes, StepSums& sums, std::int64_t missing) {
    std::vector<double> own{static_cast<double>(missing), static_cast<double>(sums.targets),
                            static_cast<double>(sums.tokens)};
    const std::size_t counts = own.size();
    for (const at::Tensor& loss : losses_) own.push_back(loss.item<double>());
    own.resize(own.size() + static_cast<std::size_t>(missing));
    const auto rows = gather_numbers(processes, own);
    if (std::ranges::any_of(rows, [](const auto& row) { return row[0] > 0; })) {
      losses_.clear();
      return false;
    }
    sums.targets = sums.tokens = 0;
    for (const auto& row : rows) {
      sums.targets += static_cast<std::int64_t>(row[1]);
      sums.tokens += static_cast<std::int64_t>(row[2]);
    }
    // In the type of the losses, as one process adds them.
    at::Tensor total;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      for (const auto& row : rows) {
        const at::Tensor loss = at::scalar_tensor(row[counts + i], losses_[i].options());
        total = total.defined() ? total + loss : loss;
      }
    }
    sums.loss = total;
    losses_.clear();
    return true;
  }

 private:
  std::vector<at::Tensor> losses_;  // of this process's micro-batches
};

// Gradients of a process are added as they come, then those of the processes: fewest bytes, and on
// their way while the last backward pass goes on.
class FastReduction : public StepReduction {
 public:
  FastReduction(Processes& processes, const ParameterStore& parameters, std::int64_t bucket)
      : processes_(processes), buckets_(processes, parameters, bucket) {}

  void begin_last() override { buckets_.watch(); }
  void add_micro_batch(const at::Tensor& loss, ParameterStore&) override {
    losses_.add(loss);
    processes_.alive();
  }
  bool finish(StepSums& sums, ParameterStore&, std::int64_t missing) override {
    if (missing > 0) buckets_.watch();  // the others send all buckets, and wait for these
    buckets_.begin_rest();
    const bool whole = losses_.finish(processes_, sums, missing);
    buckets_.wait();
    return whole;
  }

 private:
  Processes& processes_;
  GradientBuckets buckets_;
  LossSums losses_;
};

// The same for an optimiser in parts: each process gets the sum of its part alone.
class PartReduction : public StepReduction {
 public:
  PartReduction(Processes& processes, const ParameterStore& parameters)
      : processes_(processes), parts_(parameters.flat_gradients().numel(), processes.count()) {}

  void add_micro_batch(const at::Tensor& loss, ParameterStore&) override {
    losses_.add(loss);
    processes_.alive();
  }
  bool finish(StepSums& sums, ParameterStore& parameters, std::int64_t missing) override {
    parts_.sum_own(processes_, parameters.flat_gradients());
    return losses_.finish(processes_, sums, missing);
  }

 private:
  Processes& processes_;
  FlatParts parts_;
  LossSums losses_;
};

// The gradient of every micro-batch is added on its own, in the order of their numbers, whoever
// computed it: the same bits for any number of processes.
class DeterministicReduction : public StepReduction {
 public:
  DeterministicReduction(Processes& processes, const ParameterStore& parameters, bool in_parts)
      : processes_(processes),
        parts_(parameters.flat_gradients().numel(), processes.count()),
        total_(at::zeros({parts_.size(processes.rank())}, parameters.flat_gradients().options())),
        in_parts_(in_parts) {}

  void add_micro_batch(const at::Tensor& loss, ParameterStore& parameters) override {
    losses_.add(loss);
    parts_.sum_own(processes_, parameters.flat_gradients(), total_);
    parameters.zero_gradients();
  }

  bool finish(StepSums& sums, ParameterStore& parameters, std::int64_t missing) override {
    const at::Tensor& gradients = parameters.flat_gradients();
    // The others send the gradient of every micro-batch until they hear of the end, too.
    for (std::int64_t i = 0; i < missing && !processes_.alone(); ++i) {
      parts_.sum_own(processes_, gradients, total_);
    }
    if (!losses_.finish(processes_, sums, missing)) {
      total_.zero_();
      return false;
    }
    if (in_parts_) {
      gradients.narrow(0, parts_.begin(processes_.rank()), total_.numel()).copy_(total_);
    } else {
      parts_.gather(processes_, gradients, total_);
    }
    total_.zero_();
    return true;
  }

 private:
  Processes& processes_;
  FlatParts parts_;
  at::Tensor total_;  // [part] of the step so far
  bool in_parts_;
  LossSums losses_;
};

}  // namespace

std::int64_t bucket_size(std::int64_t count) {
  constexpr std::int64_t kLeast = 1 << 18, kMost = 1 << 22, kBuckets = 8;
  return std::clamp((count + kBuckets - 1) / kBuckets, kLeast, kMost);
}

std::unique_ptr<StepReduction> make_step_reduction(Processes& processes,
                                                   const ParameterStore& parameters,
                                                   const ReductionSettings& settings) {
  if (settings.order == GradientReduction::deterministic) {
    return std::make_unique<DeterministicReduction>(processes, parameters, settings.in_parts);
  }
  if (processes.alone()) return nullptr;
  if (settings.in_parts) return std::make_unique<PartReduction>(processes, parameters);
  const std::int64_t bucket =
      settings.bucket > 0 ? settings.bucket : bucket_size(parameters.flat_gradients().numel());
  return std::make_unique<FastReduction>(processes, parameters, bucket);
}

}  // namespace roformer
