#include "bench/random_training.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "config/load.h"
#include "tensor/operations.h"

using namespace roformer;

namespace {

double milliseconds_of(const std::vector<StepPart>& parts, const std::string& name) {
  for (const StepPart& part : parts) {
    if (part.name == name) return part.milliseconds;
  }
  return 0;
}

double calls_of(const std::vector<OperationTime>& operations, const std::string& scope,
                const std::string& name) {
  for (const OperationTime& operation : operations) {
    if (operation.scope == scope && operation.name == name) {
      return static_cast<double>(operation.calls);
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("operations are recorded forward and backward, by the scope they ran in") {
  const at::Tensor x = at::rand({8, 4}).set_requires_grad(true);
  const at::Tensor weight = at::rand({4, 4}).set_requires_grad(true);
  const std::unique_ptr<OperationProfile> profile = start_profile(at::kCPU);
  project(x, weight).sum().backward();
  profile->stop();
  const std::vector<OperationTime> operations = profile->operations();
  CHECK(calls_of(operations, "products/project", "") == 2);          // and its backward pass
  CHECK(calls_of(operations, "products/project", "aten::mm") == 3);  // and both gradients
  CHECK(calls_of(operations, "", "aten::sum") >= 1);
  at::rand({4}).add(1);
  CHECK(profile->operations().size() == operations.size());
}

TEST_CASE("LibTorch's own attention on a GPU is attention, and a kernel's name is told") {
  struct Given : OperationProfile {
    void stop() override {}
    std::vector<OperationTime> operations() const override {
      return {{.name = "aten::_cudnn_attention_backward",
               .kernel = "dq",
               .milliseconds = 3,
               .calls = 2},
              {.scope = "products/project",
               .name = "aten::mm",
               .kernel = "nvjet",
               .milliseconds = 1,
               .calls = 2}};
    }
    double wall_milliseconds() const override { return 10; }
    double idle_share(std::int64_t) const override { return 0.6; }
  };
  const StepProfile profile = step_profile(Given(), 2, 1);
  CHECK(milliseconds_of(profile.parts, "attention") == 1.5);
  CHECK(milliseconds_of(profile.parts, "matrix products") == 0.5);
  CHECK(milliseconds_of(profile.operations, "aten::_cudnn_attention_backward > dq") == 1.5);
  CHECK(milliseconds_of(profile.operations, "products/project > aten::mm > nvjet") == 0.5);
  CHECK(profile.idle_share == 0.6);
}

TEST_CASE("the parts of a step sum to it") {
  const Settings settings = default_settings({{"model.layers", "2"},
                                              {"model.width", "32"},
                                              {"model.heads", "2"},
                                              {"model.feed_forward", "64"},
                                              {"model.vocabulary", "100"},
                                              {"data.length", "16"},
                                              {"training.batch", "4"}});
  const StepBenchmark result =
      benchmark_language_model(settings, {}, {.measured = 3, .warmup = 1, .profile = at::kCPU});
  REQUIRE(result.profile);
  double sum = 0;
  for (const StepPart& part : result.profile->parts) {
    CHECK(part.milliseconds >= 0);
    sum += part.milliseconds;
  }
  CHECK(sum == Approx(result.profile->milliseconds));
  for (const char* name : {"matrix products", "attention", "embeddings",
                           "norms, activations, dropout", "cross entropy", "optimiser"}) {
    INFO(name);
    CHECK(milliseconds_of(result.profile->parts, name) > 0);
  }
  CHECK(result.profile->idle_share < 1);
  CHECK_FALSE(benchmark_language_model(settings, {}, {.measured = 1, .warmup = 0}).profile);
}
