#include "bench/benchmark.h"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "bench/timing.h"
#include "metrics/statistics.h"
#include "training/training_step.h"

namespace roformer {
namespace {

constexpr std::size_t kOperations = 12;  // listed one by one

struct Area {
  std::string_view scope;  // before the slash
  std::string_view title;
};
constexpr std::array<Area, 7> kAreas{{{"products", "matrix products"},
                                      {"attention", "attention"},
                                      {"position", "rotations"},
                                      {"elementwise", "norms, activations, dropout"},
                                      {"loss", "cross entropy"},
                                      {"embedding", "embeddings"},
                                      {"optimizer", "optimiser"}}};

std::string_view area_of(const OperationTime& operation) {
  static const std::set<std::string_view> kProducts{"aten::mm",     "aten::addmm",  "aten::addmm_",
                                                    "aten::bmm",    "aten::linear", "aten::matmul",
                                                    "aten::baddbmm"};
  static const std::set<std::string_view> kCopies{
      "aten::copy_", "aten::_to_copy", "aten::to",    "aten::contiguous",  "aten::clone",
      "aten::cat",   "aten::fill_",    "aten::zero_", "aten::index_select"};
  const std::string_view scope =
      std::string_view(operation.scope).substr(0, operation.scope.find('/'));
  // Products inside attention belong to it; those of the loss count as products.
  if (scope != "attention") {
    if (kProducts.contains(operation.name)) return "matrix products";
    if (kCopies.contains(operation.name)) return "copies and casts";
  }
  for (const Area& area : kAreas) {
    if (area.scope == scope) return area.title;
  }
  // LibTorch's own operations: aten::_flash_attention_forward, aten::_cudnn_attention_backward.
  if (operation.name.find("_attention_") != std::string::npos) return "attention";
  return "other operations";
}

std::string title_of(const OperationTime& operation) {
  std::vector<std::string> parts{operation.scope, operation.name, operation.kernel};
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, " > "));
}

constexpr std::uint64_t kSeed = 7;  // of dropout

}  // namespace

StepProfile step_profile(const OperationProfile& profile, std::int64_t steps,
                         std::int64_t threads) {
  const auto count = static_cast<double>(steps);
  const double wall = profile.wall_milliseconds();
  StepProfile result{.milliseconds = wall / count, .idle_share = profile.idle_share(threads)};
  const auto part = [&](std::string name, double milliseconds, double calls) {
    return StepPart{.name = std::move(name),
                    .milliseconds = milliseconds / count,
                    .share = milliseconds / wall,
                    .calls = calls / count};
  };
  std::map<std::string_view, StepPart> areas;
  double between = wall;
  for (const OperationTime& operation : profile.operations()) {
    const StepPart own =
        part(title_of(operation), operation.milliseconds, static_cast<double>(operation.calls));
    between -= operation.milliseconds;
    StepPart& area = areas[area_of(operation)];
    area.milliseconds += own.milliseconds;
    area.share += own.share;
    area.calls += own.calls;
    if (result.operations.size() < kOperations) result.operations.push_back(own);
  }
  for (auto& [name, area] : areas) {
    area.name = name;
    result.parts.push_back(std::move(area));
  }
  result.parts.push_back(part("between operations", between, 0));
  std::ranges::stable_sort(result.parts, std::greater<>(), &StepPart::milliseconds);
  return result;
}

TimedTraining::TimedTraining(std::unique_ptr<TrainingObjective> objective, const Settings& settings)
    : objective_(std::move(objective)),
      settings_(settings.training),
      optimizer_(objective_->parameters(), optimizer_options(settings_)),
      graphs_(make_pass_graphs(*objective_, settings_)) {
  objective_->parameters().apply_constraints();
}

StepTime TimedTraining::step(std::int64_t number) {
  if (next_.second == nullptr || next_.first != number) {
    next_ = {number, objective_->make_batch(number)};
  }
  const auto start = BenchmarkClock::now();
  std::vector<std::unique_ptr<TrainingBatch>> batches;
  batches.push_back(std::move(next_.second));
  StepTime time{.targets = batches.back()->target_count};
  const StepResult result = take_training_step(*objective_, optimizer_, std::move(batches),
                                               {.step = number,
                                                .seed = kSeed,
                                                .learning_rate = settings_.learning_rate,
                                                .clip = settings_.clip,
                                                .graphs = graphs_.get()});
  // The GPU may still be at work here.
  const auto loading = BenchmarkClock::now();
  next_ = {number + 1, objective_->make_batch(number + 1)};
  time.loading = milliseconds_since(loading);
  wait_for(result.outcome.gradient_norm);
  time.milliseconds = milliseconds_since(start);
  return time;
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
  StepBenchmark result{.parameters = work.parameters,
                       .tokens = work.tokens,
                       .examples = work.examples,
                       .step_milliseconds = median(milliseconds),
                       .best_milliseconds = std::ranges::min(milliseconds),
                       .gflop = work.gflop,
                       .loader_share = loading / total,
                       .peak_memory_mib = peak_memory_mib(),
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

}  // namespace roformer
