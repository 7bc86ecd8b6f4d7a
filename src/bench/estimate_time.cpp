#include "bench/estimate_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "bench/benchmark.h"
#include "bench/random_training.h"
#include "config/task_facts.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

// The training of one pass on this machine, on its data or on random tokens.
std::unique_ptr<TrainingObjective> timed_objective(const OpenedEstimate& opened,
                                                   const EstimatedPass& pass,
                                                   const MeanBatch& batch,
                                                   const ComputePlan& plan) {
  if (opened.task) return open_with_tokenizer(pass.settings, plan).task;
  if (is_labelled(pass.settings)) {
    return random_texts_objective(
        pass.settings, plan, std::max<std::int64_t>(3, std::llround(batch.tokens / batch.texts)));
  }
  if (pass.settings.task != TaskKind::translation) return random_language(pass.settings, plan);
  Settings settings = pass.settings;
  if (settings.training.batch_tokens == 0)
    settings.training.batch_tokens = std::llround(batch.tokens);
  return random_pairs(settings, plan);
}

}  // namespace

UnmeasuredParts unmeasured(const Settings& settings, std::int64_t with_scores) {
  UnmeasuredParts result;
  const auto add = [&](double factor, const std::string& words) {
    result.factor *= factor;
    result.words += (result.words.empty() ? "" : ", ") + words;
  };
  if (uses_linear_attention(settings.attention)) {
    add(3, "linear attention");
  } else if (settings.attention.dropout > 0) {
    add(3, "dropout of attention's probabilities, which keeps all scores");
  } else if (with_scores > 0) {
    add(3, "scores that position " + settings.position.scheme + " changes");
  }
  if (is_labelled(settings) || settings.task == TaskKind::translation) {
    add(1.5, "texts of unequal lengths");
  }
  return result;
}

PassSpeed known_speed(const MeasuredDevice& device, const Settings& settings, double gflop,
                      std::int64_t with_scores) {
  const auto width = static_cast<double>(settings.model.width);
  const bool exact = settings.training.attention_gradient == AttentionGradient::exact;
  const double slower = exact ? device.exact_gradient : 1;
  const InterpolatedTime time = interpolated_time(device, gflop, width);
  return {.milliseconds =
              [&device, width, slower](double of_pass) {
                return slower * interpolated_time(device, of_pass, width).milliseconds;
              },
          .below = time.factor,
          .above = time.factor * unmeasured(settings, with_scores).factor,
          .source = fmt::format("interpolated; the nearest measured step is {} on such a card: "
                                "{:.1f} ms, {:.0f} TFLOP/s ({})",
                                time.nearest->name, time.nearest->milliseconds,
                                time.nearest->gflops_per_second() * 1e-3, time.nearest->record)};
}

PassSpeed measured_speed(const OpenedEstimate& opened, const EstimatedPass& pass,
                         const MeanBatch& batch, double gflop, const ComputePlan& plan,
                         std::int64_t steps) {
  constexpr std::int64_t kWarmup = 3;
  constexpr double kMostSeconds = 60;
  TimedTraining training(timed_objective(opened, pass, batch, plan), pass.settings);
  std::vector<double> times;
  double total = 0;
  for (std::int64_t i = 0; i < kWarmup + steps; ++i) {
    const double milliseconds = training.step(i).milliseconds;
    total += milliseconds;
    if (i >= kWarmup || total > kMostSeconds * 1e3) times.push_back(milliseconds);
    if (total > kMostSeconds * 1e3) break;
  }
  // Batches of unequal lengths differ in their work, so that a median would mean nothing.
  const bool alike = !is_labelled(pass.settings) && pass.settings.task != TaskKind::translation;
  const double mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  const double typical = alike ? median(times) : mean;
  const double rate = gflop / typical;
  return {.milliseconds = [rate](double of_pass) { return of_pass / rate; },
          .below = 1.15,
          .above = 1.15,
          .source = fmt::format("measured here: {} of {:.1f} ms on {}",
                                format_counted(std::ssize(times), "step"), typical,
                                opened.task ? "the data" : "random tokens")};
}

void add_time(TrainingEstimate& estimate, const PassSpeed& speed, double gradient_milliseconds) {
  EstimatedTime time{.source = speed.source};
  double computing = 0;
  for (EstimatedStage& stage : estimate.stages) {
    const double of_each = stage.gflop / static_cast<double>(estimate.processes * stage.passes);
    const double compute = 1e-3 * speed.milliseconds(of_each) * static_cast<double>(stage.passes);
    stage.seconds = compute + 1e-3 * gradient_milliseconds;
    computing += stage.steps * compute;
    time.hours += stage.steps * stage.seconds / 3600;
  }
  const double seconds = time.hours * 3600;
  time.least = time.hours / speed.below;
  time.most = time.hours * speed.above;
  time.tokens_per_second = estimate.tokens() / seconds;
  time.gflops_per_second = estimate.gflop() / seconds;
  time.efficiency = computing / seconds;
  estimate.time = time;
}

}  // namespace roformer
