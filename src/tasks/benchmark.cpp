#include "tasks/benchmark.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/random.h"
#include "tasks/language_model.h"
#include "training/optimizer.h"

namespace roformer {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Waits for the device by reading a number.
void wait_for(const at::Tensor& value) {
  value.item<double>();
}

MaskedBatch random_batch(const Settings& settings, std::int64_t vocabulary, std::uint64_t key) {
  Random random(key);
  MaskedBatch batch;
  batch.rows = settings.training.batch;
  batch.length = settings.data.length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    if (i % batch.length == 0) batch.sequence_starts.push_back(i);
    const auto id =
        static_cast<std::int64_t>(5 + random.below(static_cast<std::uint64_t>(vocabulary - 5)));
    batch.ids.push_back(id);
    if (random.uniform() >= settings.data.masking.probability) continue;
    batch.places.push_back(i);
    batch.labels.push_back(id);
  }
  batch.sequence_starts.push_back(batch.tokens());
  return batch;
}

CausalBatch causal_batch(const MaskedBatch& masked) {
  CausalBatch batch;
  static_cast<TokenBatch&>(batch) = masked;
  batch.targets.assign(masked.ids.begin() + 1, masked.ids.end());
  batch.targets.push_back(masked.ids.front());
  batch.target_count = batch.tokens();
  return batch;
}

// Multiply-adds of the matrix products of one step, times two for FLOP and three for forward and
// both gradients. Behind the last attention only the chosen places are computed.
double step_gflop(const Settings& settings, std::int64_t vocabulary, double tokens, double places) {
  const auto width = static_cast<double>(settings.model.width);
  const auto inner = static_cast<double>(settings.model.feed_forward);
  const auto layers = static_cast<double>(settings.model.layers);
  const auto narrow = settings.model.embedding_width > 0
                          ? static_cast<double>(settings.model.embedding_width)
                          : width;
  const double projections = layers * tokens * 3 * width * width;
  const double behind = ((layers - 1) * tokens + places) * (width * width + 2 * width * inner);
  const double visible = settings.task == TaskKind::causal_lm ? 0.5 : 1;
  const double attention =
      layers * tokens * 2 * static_cast<double>(settings.data.length) * width * visible;
  const double head = places * narrow * (width + static_cast<double>(vocabulary));
  return 6 * (projections + behind + attention + head) * 1e-9;
}

}  // namespace

double matmul_ceiling(const ComputePlan& plan, std::int64_t size) {
  const auto type = plan.precision == Precision::bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor a = at::ones({size, size}, at::TensorOptions().dtype(type).device(plan.device));
  at::Tensor product = at::mm(a, a);
  wait_for(product[0][0]);
  double best = INFINITY;
  for (int i = 0; i < 10; ++i) {
    const auto start = Clock::now();
    at::mm_out(product, a, a);
    wait_for(product[0][0]);
    best = std::min(best, milliseconds_since(start));
  }
  const auto edge = static_cast<double>(size);
  return 2 * edge * edge * edge * 1e-6 / best;
}

StepBenchmark benchmark_language_model(const Settings& settings, const ComputePlan& plan,
                                       std::int64_t steps, std::int64_t warmup) {
  const std::int64_t vocabulary = settings.model.vocabulary;
  LanguageModel model(settings, vocabulary, plan);
  AdamW optimizer(model.parameters(), {.beta1 = settings.training.beta1,
                                       .beta2 = settings.training.beta2,
                                       .epsilon = settings.training.epsilon,
                                       .weight_decay = settings.training.weight_decay});
  std::vector<double> times;
  double loading = 0, places = 0;
  for (std::int64_t i = 0; i < warmup + steps; ++i) {
    const auto start = Clock::now();
    const MaskedBatch source = random_batch(
        settings, vocabulary, random_key({settings.seed, static_cast<std::uint64_t>(i)}));
    const LanguageBatch batch = settings.task == TaskKind::causal_lm
                                    ? to_device(causal_batch(source), plan.device)
                                    : to_device(source, plan.device);
    const double loaded = milliseconds_since(start);
    model.parameters().apply_constraints();
    const CrossEntropy loss =
        model.loss(batch, /*training=*/true, random_key({7, static_cast<std::uint64_t>(i)}));
    loss.loss_sum.backward();
    const auto count = static_cast<double>(batch.labels.numel());
    const OptimizerOutcome outcome =
        optimizer.step({.learning_rate = settings.training.learning_rate,
                        .places = count,
                        .clip = settings.training.clip,
                        .loss = loss.loss_sum.detach()});
    wait_for(outcome.gradient_norm);
    if (i < warmup) continue;
    times.push_back(milliseconds_since(start));
    loading += loaded;
    places += count;
  }
  double total = 0;
  for (const double time : times) total += time;
  std::sort(times.begin(), times.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  StepBenchmark result{.parameters = model.parameters().count(),
                       .tokens = settings.training.batch * settings.data.length,
                       .step_milliseconds = times[times.size() / 2],
                       .best_milliseconds = times.front(),
                       .loader_share = loading / total,
                       .peak_memory_mib = usage.ru_maxrss / 1024};
  result.tokens_per_second = static_cast<double>(result.tokens) / result.step_milliseconds * 1e3;
  result.gflop = step_gflop(settings, vocabulary, static_cast<double>(result.tokens),
                            places / static_cast<double>(steps));
  result.gflops_per_second = result.gflop / result.step_milliseconds * 1e3;
  result.ceiling_gflops_per_second = matmul_ceiling(plan);
  result.matmul_share = result.gflops_per_second / result.ceiling_gflops_per_second;
  return result;
}

}  // namespace roformer
