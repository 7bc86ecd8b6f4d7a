#include "bench/benchmark.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <algorithm>
#include <utility>

#include "base/memory.h"
#include "bench/model_products.h"
#include "bench/random_language.h"
#include "config/task_facts.h"
#include "metrics/statistics.h"
#include "tensor/device.h"

namespace roformer {
namespace {

// Multiply-adds of the matrix products of one step, times two for FLOP and three for forward and
// both gradients. Behind the last attention only the targets' rows are computed.
double step_gflop(const Settings& settings, double tokens, double targets) {
  const ModelSettings& model = settings.model;
  const LayerProducts layer = layer_products(model);
  const auto width = static_cast<double>(model.width);
  const auto layers = static_cast<double>(model.layers);
  const double narrow =
      model.embedding_width > 0 ? static_cast<double>(model.embedding_width) : width;
  const double keys =
      keys_of_layers(settings, model.layers, static_cast<double>(settings.data.length),
                     task_facts(settings.task).causal);
  const double stack = layers * tokens * layer.projections +
                       ((layers - 1) * tokens + targets) * layer.behind +
                       tokens * keys * layer.of_pair;
  const double dense = model.head == LanguageHeadKind::bert ? width : 0;
  const double head = targets * narrow * (dense + static_cast<double>(model.vocabulary));
  return 6 * (stack + head) * 1e-9;
}

}  // namespace

double matmul_ceiling(const ComputePlan& plan, std::int64_t wanted) {
  constexpr std::int64_t kOnCpu = 2048, kOnGpu = 8192;
  const std::int64_t size = wanted > 0 ? wanted : plan.device.is_cpu() ? kOnCpu : kOnGpu;
  const auto type = plan.precision == Precision::bf16 ? at::kBFloat16 : at::kFloat;
  // Random: a GPU multiplies equal numbers faster, which switch fewer transistors.
  const at::Tensor a = at::randn({size, size}, at::TensorOptions().dtype(type).device(plan.device));
  at::Tensor product = at::mm(a, a);
  wait_for(product[0][0]);
  double best = INFINITY;
  for (int i = 0; i < 10; ++i) {
    const auto start = BenchmarkClock::now();
    at::mm_out(product, a, a);
    wait_for(product[0][0]);
    best = std::min(best, milliseconds_since(start));
  }
  const auto edge = static_cast<double>(size);
  return 2 * edge * edge * edge * 1e-6 / best;
}

RoundTimes time_rounds(const BenchmarkRounds& rounds, std::int64_t steps,
                       const std::function<StepTime(std::int64_t number)>& round) {
  RoundTimes times;
  std::unique_ptr<OperationProfile> profile;
  for (std::int64_t i = 0; i < rounds.warmup + rounds.measured; ++i) {
    if (i == rounds.warmup && rounds.profile)
      profile = start_profile(*rounds.profile, rounds.trace);
    const StepTime time = round(i);
    if (i >= rounds.warmup) times.measured.push_back(time);
  }
  if (profile) {
    profile->stop();
    times.profile = step_profile(*profile, rounds.measured * steps, at::get_num_threads());
  }
  const ProductRecorder recorder;
  round(rounds.warmup + rounds.measured);
  times.products = recorder.products();
  return times;
}

StepBenchmark step_benchmark(const RoundTimes& times, const StepWork& work,
                             const ComputePlan& plan) {
  double total = 0, loading = 0;
  std::vector<double> milliseconds;
  for (const StepTime& time : times.measured) {
    milliseconds.push_back(time.milliseconds);
    total += time.milliseconds;
    loading += time.loading;
  }
  StepBenchmark result{
      .parameters = work.parameters,
      .tokens = work.tokens,
      .examples = work.examples,
      .step_milliseconds = median(milliseconds),
      .best_milliseconds = *std::min_element(milliseconds.begin(), milliseconds.end()),
      .gflop = work.gflop,
      .loader_share = loading / total,
      .peak_memory_mib = static_cast<std::int64_t>(peak_memory() >> 20),
      .gpu_memory_mib = static_cast<std::int64_t>(peak_gpu_memory() >> 20),
      .profile = times.profile};
  const double seconds = result.step_milliseconds * 1e-3;
  result.tokens_per_second = static_cast<double>(work.tokens) / seconds;
  result.examples_per_second = static_cast<double>(work.examples) / seconds;
  result.gflops_per_second = work.gflop / seconds;
  result.ceiling_gflops_per_second = matmul_ceiling(plan);
  result.matmul_share = result.gflops_per_second / result.ceiling_gflops_per_second;
  result.own_gflops_per_second = products_alone(times.products, plan.device);
  if (result.own_gflops_per_second > 0) {
    result.own_share = result.gflops_per_second / result.own_gflops_per_second;
  }
  return result;
}

StepBenchmark benchmark_language_model(const Settings& settings, const ComputePlan& plan,
                                       const BenchmarkRounds& rounds) {
  TimedTraining training(random_language(settings, plan), settings);
  const RoundTimes times =
      time_rounds(rounds, 1, [&](std::int64_t number) { return training.step(number); });
  double targets = 0;
  for (const StepTime& step : times.measured) {
    targets += static_cast<double>(step.targets) / static_cast<double>(rounds.measured);
  }
  const std::int64_t tokens = settings.training.batch * settings.data.length;
  return step_benchmark(times,
                        {.parameters = training.parameters().count(),
                         .tokens = tokens,
                         .examples = settings.training.batch,
                         .gflop = step_gflop(settings, static_cast<double>(tokens), targets)},
                        plan);
}

}  // namespace roformer
