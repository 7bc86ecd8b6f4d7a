#include "training/step_reduction.h"

#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tensor/aten.h"

namespace roformer {
namespace {

// Adds the losses of all micro-batches in the order of their numbers, and the other sums.
class LossSums {
 public:
  void add(const at::Tensor& loss) { losses_.push_back(loss); }

  // Returns false if a process lacks micro-batches because it gives the step up. This travels with
  // the other numbers, so it costs nothing.
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
    // In the type of the losses, as in one process.
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

// Adds the gradients of a process as they are computed, then those of all processes. This sends the
// fewest bytes, and sends them during the last backward pass.
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
    if (missing > 0) buckets_.watch();  // the others send all buckets and wait for these
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

// The same for an optimiser in parts: each process gets only the sum of its part.
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

// Adds the gradient of every micro-batch separately, in the order of their numbers, whichever
// process computed it: the same bits for any number of processes.
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
    // The others still send the gradient of every micro-batch.
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

// Called when a parameter's gradient of a backward pass is in the flat buffer.
class GradientBuckets::Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientBuckets& owner, std::vector<std::size_t> buckets)
      : owner_(owner), buckets_(std::move(buckets)) {}
  void operator()(const at::Tensor&) override { owner_.written(buckets_); }

 private:
  GradientBuckets& owner_;
  std::vector<std::size_t> buckets_;  // that the parameter lies in
};

GradientBuckets::GradientBuckets(Processes& processes, const ParameterStore& parameters,
                                 std::int64_t size)
    : processes_(processes) {
  const at::Tensor& gradients = parameters.flat_gradients();
  struct Block {
    std::int64_t begin;
    int depth;
  };
  std::vector<Block> blocks;
  for (std::int64_t begin = 0; begin < gradients.numel(); begin += size) {
    Block block{.begin = begin, .depth = std::numeric_limits<int>::max()};
    for (const ParameterRange& range : parameters.ranges()) {
      const bool inside = range.begin < begin + size && range.end > begin;
      if (inside) block.depth = std::min(block.depth, range.depth);
    }
    blocks.push_back(block);
  }
  std::ranges::stable_sort(blocks, std::ranges::greater(), &Block::depth);
  for (const Block& block : blocks) {
    const std::int64_t count = std::min(size, gradients.numel() - block.begin);
    buckets_.push_back({.values = gradients.narrow(0, block.begin, count), .depth = block.depth});
  }
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.trained) continue;
    const std::int64_t begin = parameter.value.grad().storage_offset();
    const std::int64_t end = begin + parameter.value.numel();
    std::vector<std::size_t> touched;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const std::int64_t first = buckets_[i].values.storage_offset();
      if (begin < first + buckets_[i].values.numel() && end > first) touched.push_back(i);
    }
    for (const std::size_t bucket : touched) ++buckets_[bucket].parameters;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameter.value, std::make_unique<Hook>(*this, std::move(touched)));
    watched_.push_back(parameter.value);
  }
}

GradientBuckets::~GradientBuckets() {
  for (const at::Tensor& value : watched_) {
    torch::autograd::impl::set_post_acc_grad_hooks(value, nullptr);
  }
}

void GradientBuckets::watch() {
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters;
  begun_ = 0;
  watching_ = true;
}

void GradientBuckets::written(const std::vector<std::size_t>& buckets) {
  if (!watching_) return;
  for (const std::size_t bucket : buckets) --buckets_[bucket].missing;
  while (begun_ < buckets_.size() && buckets_[begun_].missing == 0) begin_next();
}

void GradientBuckets::begin_next() {
  pending_.push_back(processes_.begin_sum(buckets_[begun_].values));
  ++begun_;
}

void GradientBuckets::begin_rest() {
  while (begun_ < buckets_.size()) begin_next();
  watching_ = false;
}

void GradientBuckets::wait() {
  for (const auto& bucket : pending_) bucket->wait();
  pending_.clear();
}

}  // namespace roformer
