// What the trainer counts on of every task of the registry.
#include <ATen/core/Tensor.h>

#include <csignal>
#include <thread>

#include "catch.h"
#include "runs/tiny_glue.h"
#include "runs/tiny_run.h"
#include "tasks/registry.h"
#include "training/signals.h"

using namespace roformer;

namespace {

// Losses of the first batches, made in this order, on a thread of their own or not.
std::vector<double> losses(const Settings& settings, const std::vector<std::int64_t>& numbers,
                           bool elsewhere) {
  const OpenedTask opened =
      open_task({.settings = settings,
                 .plan = plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width)});
  std::vector<double> result(4);
  for (const std::int64_t number : numbers) {
    std::unique_ptr<TrainingBatch> batch;
    const auto make = [&] { batch = opened.task->make_batch(number); };
    if (elsewhere) {
      std::thread(make).join();
    } else {
      make();
    }
    CHECK(batch->tokens > 0);
    CHECK(batch->target_count > 0);
    result[static_cast<std::size_t>(number)] =
        opened.task->loss_sum(*batch, {.training = true, .key = 9, .step = 1}).item<double>();
  }
  return result;
}

void check(const Settings& settings) {
  const std::vector<double> in_order = losses(settings, {0, 1, 2, 3}, false);
  CHECK(in_order[0] != in_order[1]);
  CHECK(losses(settings, {3, 1, 0, 2, 2}, true) == in_order);
}

}  // namespace

TEST_CASE("a batch is a function of its number, in every task") {
  check(TinyRun("rope").settings);
  check(TinyRun("alibi", {{"task", "causal_lm"}}).settings);
  check(TinyRun("alibi", {{"task", "causal_lm"}, {"data.cross_documents", "false"}}).settings);
  check(TinyGlue("mrpc").settings);
  check(TinyGlue("stsb", {{"training.batch_tokens", "64"}}).settings);
}

TEST_CASE("a signal stops a validation of language models and probes") {
  const TinyRun tiny("rope");
  for (const Settings& settings :
       {tiny.settings, default_settings({{"task", "probe"}, {"model.layers", "1"}})}) {
    const OpenedTask opened =
        open_task({.settings = settings,
                   .plan = plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width)});
    const StopSignals signals;
    const std::unique_ptr<Processes> alone = make_single_process();
    std::raise(SIGTERM);
    CHECK_THROWS_AS(opened.task->validate(*alone), ValidationStopped);
  }
}
