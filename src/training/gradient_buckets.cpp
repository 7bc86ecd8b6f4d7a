#include "training/gradient_buckets.h"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace roformer {

// Of one parameter; called when its gradient of a backward pass is in the flat buffer.
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
