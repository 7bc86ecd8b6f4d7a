#include "bench/position_benchmark.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/reference_attention.h"
#include "bench/attention_layer.h"
#include "bench/random_language.h"
#include "bench/timed_training.h"
#include "config/check.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "metrics/statistics.h"
#include "tensor/profile.h"

namespace roformer {
namespace {

// Of a round's times; -1 where nothing was measured.
double middle(const std::vector<double>& times) {
  return times.empty() ? -1 : median(times);
}

// What serves only the task that the settings were written for has nothing to say in another.
void make_causal(Settings& settings) {
  if (task_facts(settings.task).causal) return;
  settings.task = std::ranges::find_if(all_task_facts(), &TaskFacts::causal)->task;
  for (const Key& key : schema()) {
    if (!key.applies_to(settings.task)) key.set(settings, key.default_text(), {});
  }
}

// One scheme with what is measured of it.
class Contestant {
 public:
  Contestant(const Settings& settings, const ComputePlan& plan,
             const PositionBenchmarkOptions& options)
      : settings_(settings),
        plan_(plan),
        options_(options),
        layers_(settings, options.layers, plan) {
    if (options.model) training_.emplace(random_language(settings, plan), settings);
    with_plain_ = options.plain && plain_fits();
  }

  // Measurements of a round.
  std::int64_t parts() const { return 2 + (with_plain_ ? 2 : 0) + (training_ ? 1 : 0); }

  void round(const at::Tensor& x, const at::Tensor& slopes, std::int64_t number, bool counts) {
    const auto note = [&](std::vector<double>& times, double time) {
      if (counts) times.push_back(time);
    };
    const auto layer = static_cast<double>(options_.layers);
    note(forward_, forward(x, AttentionForm::efficient) / layer);
    note(training_times_, train(x, slopes, AttentionForm::efficient) / layer);
    if (with_plain_) {
      note(plain_forward_, forward(x, AttentionForm::plain) / layer);
      note(plain_training_, train(x, slopes, AttentionForm::plain) / layer);
    }
    if (training_) note(steps_, training_->step(number).milliseconds);
  }

  // `stopped`: without another pass.
  PositionCost cost(const at::Tensor& x, const at::Tensor& slopes, bool stopped) const {
    const auto memory = [&](AttentionForm form) {
      if (stopped) return -1.0;
      const MemoryMeter meter;
      train(x, slopes, form);
      return static_cast<double>(meter.peak());
    };
    return {.scheme = settings_.position.scheme,
            .causal = task_facts(settings_.task).causal,
            .length = options_.length,
            .forward = middle(forward_),
            .training = middle(training_times_),
            .memory = memory(AttentionForm::efficient),
            .step = middle(steps_),
            .plain_forward = middle(plain_forward_),
            .plain_training = middle(plain_training_),
            .plain_memory = with_plain_ ? memory(AttentionForm::plain) : -1,
            .remark = remark_};
  }

 private:
  Settings settings_;
  ComputePlan plan_;
  PositionBenchmarkOptions options_;
  AttentionLayers layers_;
  std::optional<TimedTraining> training_;
  bool with_plain_ = false;
  std::string remark_;
  std::vector<double> forward_, training_times_, plain_forward_, plain_training_, steps_;

  bool plain_fits() {
    constexpr double kBytes = 4;
    const double bytes =
        kBytes * static_cast<double>(options_.layers) *
        reference_attention_numbers(settings_.position,
                                    {.batch = options_.sequences,
                                     .heads = settings_.model.heads,
                                     .length = options_.length,
                                     .head_width = settings_.model.features_of_head()});
    if (bytes <= options_.memory) return true;
    remark_ = fmt::format("the plain form would take about {:.0f} GiB", bytes / (1 << 30));
    return false;
  }

  double forward(const at::Tensor& x, AttentionForm form) const {
    const c10::AutoGradMode no_gradient(false);
    const auto start = BenchmarkClock::now();
    wait_for(layers_.forward(x.detach(), options_.length, form).select(0, 0).select(0, 0));
    return milliseconds_since(start);
  }

  double train(const at::Tensor& x, const at::Tensor& slopes, AttentionForm form) const {
    x.mutable_grad() = at::Tensor();
    const auto start = BenchmarkClock::now();
    layers_.forward(x, options_.length, form).backward(slopes);
    wait_for(x.grad().select(0, 0).select(0, 0));
    return milliseconds_since(start);
  }
};

}  // namespace

Settings benchmark_settings(const Settings& settings, const std::string& scheme,
                            const PositionBenchmarkOptions& options) {
  Settings result = settings;
  result.position.scheme = scheme;
  result.data.length = options.length;
  result.training.batch = options.sequences;
  if (find_position_facts(scheme)->causal_only) make_causal(result);
  fit_to(result.position, {.length = options.length, .causal = task_facts(result.task).causal});
  return result;
}

std::vector<PositionCost> benchmark_positions(const Settings& settings, const ComputePlan& plan,
                                              const PositionBenchmarkOptions& options,
                                              const BenchmarkProgress& progress) {
  std::vector<Settings> all;
  for (const std::string& scheme : options.schemes) {
    if (scheme != "none") all.push_back(benchmark_settings(settings, scheme, options));
  }
  const bool any_causal = std::any_of(all.begin(), all.end(),
                                      [](const Settings& s) { return task_facts(s.task).causal; });
  Settings none = benchmark_settings(settings, "none", options);
  if (any_causal && !task_facts(none.task).causal) {
    Settings causal = none;
    make_causal(causal);
    all.insert(all.begin(), causal);
  }
  all.insert(all.begin(), none);

  std::vector<PositionCost> costs;
  std::vector<std::unique_ptr<Contestant>> contestants;  // of each cost; none: refused
  std::int64_t parts = 0, done = 0;
  bool stopped = false;
  for (const Settings& one : all) {
    Problems problems;
    check(one, {}, {}, problems);
    costs.push_back({.scheme = one.position.scheme,
                     .causal = task_facts(one.task).causal,
                     .length = options.length,
                     .remark = problems.empty() ? "" : "refused: " + problems.lines().front()});
    stopped = stopped || (options.stopped && options.stopped());  // building takes long, too
    const bool taken = problems.empty() && !stopped;
    contestants.push_back(taken ? std::make_unique<Contestant>(one, plan, options) : nullptr);
    if (taken) parts += contestants.back()->parts() * (options.repeats + 1) + 1;  // 1: the memory
  }
  const auto type = plan.precision == Precision::bf16 ? at::kBFloat16 : at::kFloat;
  const auto input = [&] {
    return at::empty({options.sequences * options.length, settings.model.width},
                     at::TensorOptions().dtype(type).device(plan.device))
        .normal_();
  };
  const at::Tensor x = input().requires_grad_(), slopes = input();
  if (!stopped) progress(done, parts);
  for (std::int64_t round = 0; round <= options.repeats && !stopped; ++round) {
    for (const auto& contestant : contestants) {
      if (contestant == nullptr || stopped) continue;
      contestant->round(x, slopes, round, round > 0);
      progress(done += contestant->parts(), parts);
      stopped = options.stopped && options.stopped();
    }
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (contestants[i] == nullptr) continue;
    costs[i] = contestants[i]->cost(x, slopes, stopped);
    if (!stopped) progress(++done, parts);
  }
  return costs;
}

}  // namespace roformer
