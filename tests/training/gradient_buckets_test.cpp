#include "training/step_reduction.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "tensor/operations.h"

namespace roformer {
namespace {

// Two processes, of which the other one has no gradient; notes what is sent.
class NotingProcesses : public Processes {
 public:
  explicit NotingProcesses(const at::Tensor& flat) : flat_(flat) {}

  std::int64_t rank() const override { return 0; }
  std::int64_t count() const override { return 2; }
  std::int64_t local_rank() const override { return 0; }
  std::string use_gpu(const std::string&) override { return ""; }
  std::int64_t local_count() const override { return 2; }
  std::unique_ptr<PendingExchange> begin_sum(at::Tensor values) override {
    sent.push_back(values.storage_offset());
    gradients.push_back(values.clone());
    return std::make_unique<Done>();
  }
  std::unique_ptr<PendingExchange> begin_exchange(at::Tensor, at::Tensor) override { return {}; }
  std::unique_ptr<PendingExchange> begin_gather(at::Tensor, at::Tensor) override { return {}; }
  void take_from_first(at::Tensor) override {}
  void alive() override {}
  std::shared_ptr<void> busy() override { return nullptr; }
  bool stops(bool own) override { return own; }
  void leave(const std::string&) noexcept override {}

  // What was sent is what stands in the buffer at the end.
  bool complete() const {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (!at::equal(gradients[i], flat_.narrow(0, sent[i], gradients[i].numel()))) return false;
    }
    return true;
  }

  std::vector<std::int64_t> sent;  // where each bucket begins
  std::vector<at::Tensor> gradients;

 private:
  struct Done : PendingExchange {
    void wait() override {}
  };
  at::Tensor flat_;
};

// Three layers of 32 numbers, of which each takes the one before: 16 numbers a bucket.
struct Layers {
  ParameterStore store{7};
  std::vector<at::Tensor> weights;

  Layers() {
    for (int depth = 0; depth < 3; ++depth) {
      weights.push_back(store.add({.name = "layer" + std::to_string(depth),
                                   .shape = {32},
                                   .initial = normal(1),
                                   .depth = depth}));
    }
    store.flatten();
  }
};

}  // namespace

TEST_CASE("a bucket is sent when the backward pass has written it, the last layers first") {
  Layers layers;
  NotingProcesses processes(layers.store.flat_gradients());
  GradientBuckets buckets(processes, layers.store, 16);
  // Between the first two layers, the gradient of the deeper ones is there.
  std::vector<std::int64_t> sent_by_then;
  at::Tensor state = layers.weights[0] * 2;
  state.register_hook([&](const at::Tensor&) { sent_by_then = processes.sent; });
  const at::Tensor loss = ((state * layers.weights[1]) * layers.weights[2]).sum();

  loss.backward({}, true);  // a micro-batch before the last one
  CHECK(processes.sent.empty());
  layers.store.zero_gradients();
  buckets.watch();
  loss.backward();
  CHECK(sent_by_then == std::vector<std::int64_t>{64, 80, 32, 48});
  CHECK(processes.sent == std::vector<std::int64_t>{64, 80, 32, 48, 0, 16});
  CHECK(processes.complete());
  buckets.begin_rest();
  buckets.wait();
  CHECK(processes.sent.size() == 6);
}

TEST_CASE("what a backward pass does not reach is sent after it, in the same order") {
  Layers layers;
  NotingProcesses processes(layers.store.flat_gradients());
  GradientBuckets buckets(processes, layers.store, 16);
  buckets.watch();
  (layers.weights[0] * layers.weights[2]).sum().backward();
  CHECK(processes.sent == std::vector<std::int64_t>{64, 80});  // the middle one holds the first up
  buckets.begin_rest();
  buckets.wait();
  CHECK(processes.sent == std::vector<std::int64_t>{64, 80, 32, 48, 0, 16});
  CHECK(processes.complete());
}

// The product adds its weight's gradient itself and gives autograd none: the hook must be called
// all the same, or every exchange would wait for the end of the pass.
TEST_CASE("the weights of products are sent while the backward pass goes on") {
  ParameterStore store{7};
  std::vector<at::Tensor> weights;
  for (int depth = 0; depth < 2; ++depth) {
    weights.push_back(store.add({.name = "layer" + std::to_string(depth),
                                 .shape = {16, 16},
                                 .initial = normal(1),
                                 .depth = depth}));
  }
  store.flatten();
  NotingProcesses processes(store.flat_gradients());
  GradientBuckets buckets(processes, store, 256);
  std::vector<std::int64_t> sent_by_then;
  at::Tensor state = project(at::ones({4, 16}), weights[0]);
  state.register_hook([&](const at::Tensor&) { sent_by_then = processes.sent; });
  const at::Tensor loss = project(state, weights[1]).square().sum();
  buckets.watch();
  loss.backward();
  CHECK(sent_by_then == std::vector<std::int64_t>{256});
  CHECK(processes.sent == std::vector<std::int64_t>{256, 0});
  CHECK(processes.complete());
}

}  // namespace roformer
