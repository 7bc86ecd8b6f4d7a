// Passes by graphs, without a GPU: its kernels run on the CPU (tensor/gpu/emulation.h), and in
// place of a GPU's graph the recorded work is done again as it was recorded, with the batch's
// memory and the keys that the recording has put into the device's.
#include "training/pass_graphs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <stdexcept>

#include "base/random.h"
#include "bench/random_training.h"
#include "catch.h"
#include "config/load.h"
#include "tensor/gpu/emulation.h"

namespace roformer {
namespace {

class WorkDoneAgain : public gpu::DeviceGraph {
 public:
  explicit WorkDoneAgain(ParameterStore& parameters) : parameters_(parameters) {}

  void record(const std::function<void()>& work) override {
    recording_ = GraphRecording::current();
    work_ = work;
    const at::Tensor before = parameters_.flat_gradients().clone();
    work();
    parameters_.flat_gradients().copy_(before);  // a GPU does nothing of what it records
  }
  void repeat() override {
    const GraphRecording::Scope scope(*recording_);
    work_();
  }

 private:
  ParameterStore& parameters_;
  GraphRecording* recording_ = nullptr;
  std::function<void()> work_;
};

class Refusal : public gpu::DeviceGraph {
 public:
  explicit Refusal(ParameterStore& parameters) : parameters_(parameters) {}

  void record(const std::function<void()>& work) override {
    const at::Tensor before = parameters_.flat_gradients().clone();
    work();
    parameters_.flat_gradients().copy_(before);
    throw std::runtime_error("the stream was waited for\nand more");
  }
  void repeat() override { FAIL("nothing was recorded"); }

 private:
  ParameterStore& parameters_;
};

Settings settings_of(const std::string& scheme, const std::string& task) {
  return default_settings({{"task", task},
                           {"position", scheme},
                           {"model.layers", "2"},
                           {"model.width", "32"},
                           {"model.heads", "2"},
                           {"model.feed_forward", "64"},
                           {"model.vocabulary", "70"},
                           {"model.dropout", "0.2"},
                           {"training.recompute", "attention"},
                           {"data.length", "16"},
                           {"training.batch", "3"}});
}

struct Trained {
  std::vector<double> losses;
  at::Tensor values;
  std::int64_t repeated = 0;
  std::string reason;
};

using Make = std::function<std::unique_ptr<gpu::DeviceGraph>(ParameterStore&)>;

Trained train_with(const Settings& settings, Precision precision, const Make& make) {
  const auto objective = random_language(settings, {.device = at::kCPU, .precision = precision});
  ParameterStore& parameters = objective->parameters();
  std::unique_ptr<PassGraphs> graphs;
  if (make) {
    REQUIRE(objective->repeats_its_work());
    graphs = std::make_unique<PassGraphs>(*objective, [&] { return make(parameters); });
  }
  Trained result;
  for (std::int64_t number = 0; number < 6; ++number) {
    const auto batch = objective->make_batch(number);
    const ForwardMode mode{.training = true,
                           .key = random_key({3, static_cast<std::uint64_t>(number)})};
    const at::Tensor loss =
        graphs != nullptr ? graphs->pass(*batch, mode) : plain_pass(*objective, *batch, mode);
    result.losses.push_back(loss.item<double>());
    if (number % 2 == 0) continue;  // gradients of two batches are added
    const at::NoGradGuard no_gradient;
    parameters.flat_values().sub_(parameters.flat_gradients(), 1e-3);
    parameters.zero_gradients();
  }
  result.values = parameters.flat_values().clone();
  if (graphs != nullptr) {
    result.repeated = graphs->repeated();
    result.reason = graphs->reason();
  }
  return result;
}

}  // namespace

TEST_CASE("a pass that is repeated uses its batch and a new dropout mask") {
  const gpu::KernelEmulation emulation(emulate_kernel);
  const auto [scheme, precision] =
      GENERATE(table<std::string, Precision>({{"rope", Precision::bf16}, {"t5", Precision::fp32}}));
  const Settings settings = settings_of(scheme, "mlm");
  const Trained plain = train_with(settings, precision, {});
  const Trained graphs = train_with(settings, precision, [](ParameterStore& parameters) {
    return std::make_unique<WorkDoneAgain>(parameters);
  });
  INFO(scheme);
  CHECK(graphs.repeated == 4);  // of 6 passes, whose targets are one product
  CHECK(graphs.reason.empty());
  CHECK(graphs.losses == plain.losses);
  CHECK(at::equal(graphs.values, plain.values));
}

TEST_CASE("graphs that are given back are recorded again") {
  const gpu::KernelEmulation emulation(emulate_kernel);
  const Settings settings = settings_of("none", "causal_lm");
  const auto objective =
      random_language(settings, {.device = at::kCPU, .precision = Precision::fp32});
  int made = 0;
  PassGraphs graphs(*objective, [&] {
    ++made;
    return std::make_unique<WorkDoneAgain>(objective->parameters());
  });
  const auto pass = [&] { graphs.pass(*objective->make_batch(0), {.training = true, .key = 7}); };
  for (int i = 0; i < 4; ++i) pass();
  CHECK(made == 1);
  graphs.forget();
  for (int i = 0; i < 3; ++i) pass();
  CHECK(made == 2);
  CHECK(graphs.repeated() == 3);
}

TEST_CASE("a pass that cannot be recorded is made without a graph, and none is tried again") {
  const gpu::KernelEmulation emulation(emulate_kernel);
  const Settings settings = settings_of("rope", "causal_lm");
  int tried = 0;
  const Trained plain = train_with(settings, Precision::fp32, {});
  const Trained refused = train_with(settings, Precision::fp32, [&](ParameterStore& parameters) {
    ++tried;
    return std::make_unique<Refusal>(parameters);
  });
  CHECK(tried == 1);
  CHECK(refused.repeated == 0);
  CHECK(refused.reason == "the stream was waited for");
  CHECK(refused.losses == plain.losses);
  CHECK(at::equal(refused.values, plain.values));
}

TEST_CASE("what is drawn in every step is never recorded") {
  const ComputePlan plan{.device = at::kCPU, .precision = Precision::fp32};
  const auto repeats = [&](const Settings& settings) {
    return random_language(settings, plan)->repeats_its_work();
  };
  CHECK(repeats(settings_of("alibi", "mlm")));
  CHECK_FALSE(repeats(settings_of("explicit_positions", "mlm")));
  Settings favor = settings_of("rope", "mlm");
  favor.attention.kernel = AttentionKernel::favor;
  CHECK_FALSE(repeats(favor));
}

}  // namespace roformer
