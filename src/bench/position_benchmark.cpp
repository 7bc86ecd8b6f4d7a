#include "bench/position_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/reference_attention.h"
#include "bench/attention_layer.h"
#include "bench/random_training.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"

namespace roformer {
namespace {

// Keys that serve only the settings' own task go back to their defaults.
void make_causal(Settings& settings) {
  if (task_facts(settings.task).causal) return;
  settings.task = std::ranges::find_if(all_task_facts(), &TaskFacts::causal)->task;
  for (const Key& key : schema()) {
    if (!key.applies_to(settings.task)) key.set(settings, key.default_text(), {});
  }
}

// One scheme with all its measurements.
class Contestant {
 public:
  Contestant(const Settings& settings, const ComputePlan& plan,
             const PositionBenchmarkOptions& options)
      : settings_(settings), options_(options), layers_(settings, options.layers, plan) {
    if (options.model) training_.emplace(random_language(settings, plan), settings);
    with_plain_ = options.plain && plain_fits();
  }

  // The measurements of a round, as cost() expects their times.
  Turn turn(const at::Tensor& x, const at::Tensor& slopes) {
    Turn pieces;
    const auto add = [&](AttentionForm form, const at::Tensor& gradients) {
      pieces.push_back([this, form, &x, gradients](std::int64_t) {
        return timed_pass(x, gradients, pass(form)) / static_cast<double>(options_.layers);
      });
    };
    for (const AttentionForm form : {AttentionForm::efficient, AttentionForm::plain}) {
      if (form == AttentionForm::plain && !with_plain_) continue;
      add(form, {});
      add(form, slopes);
    }
    if (training_) {
      pieces.push_back([this](std::int64_t round) { return training_->step(round).milliseconds; });
    }
    return pieces;
  }

  // `stopped`: without another pass.
  PositionCost cost(const TurnTimes& times, const at::Tensor& x, const at::Tensor& slopes,
                    bool stopped) const {
    const auto memory = [&](AttentionForm form) {
      return stopped ? -1.0 : pass_memory(x, slopes, pass(form));
    };
    PositionCost cost{.scheme = settings_.position.scheme,
                      .causal = task_facts(settings_.task).causal,
                      .length = options_.length,
                      .forward = median_or_none(times[0]),
                      .training = median_or_none(times[1]),
                      .memory = memory(AttentionForm::efficient),
                      .remark = remark_};
    if (training_) cost.step = median_or_none(times.back());
    if (!with_plain_) return cost;
    cost.plain_forward = median_or_none(times[2]);
    cost.plain_training = median_or_none(times[3]);
    cost.plain_memory = memory(AttentionForm::plain);
    return cost;
  }

 private:
  Settings settings_;
  PositionBenchmarkOptions options_;
  AttentionLayers layers_;
  std::optional<TimedTraining> training_;
  bool with_plain_ = false;
  std::string remark_;

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

  std::function<at::Tensor(const at::Tensor&)> pass(AttentionForm form) const {
    return [this, form](const at::Tensor& x) { return layers_.forward(x, options_.length, form); };
  }
};

// All schemes of the options. `none` comes first, once for encoders and once for causal models if
// they include such schemes.
std::vector<Settings> contestants_of(const Settings& settings,
                                     const PositionBenchmarkOptions& options) {
  std::vector<Settings> all{benchmark_settings(settings, "none", options)};
  for (const std::string& scheme : options.schemes) {
    if (scheme != "none") all.push_back(benchmark_settings(settings, scheme, options));
  }
  const auto causal = [](const Settings& one) { return task_facts(one.task).causal; };
  if (std::ranges::any_of(all, causal) && !causal(all.front())) {
    Settings none = all.front();
    make_causal(none);
    all.insert(all.begin() + 1, none);
  }
  return all;
}

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
  std::vector<PositionCost> costs;
  std::vector<std::unique_ptr<Contestant>> contestants;  // for each cost; null: refused
  bool stopped = false;
  for (const Settings& one : contestants_of(settings, options)) {
    costs.push_back({.scheme = one.position.scheme,
                     .causal = task_facts(one.task).causal,
                     .length = options.length,
                     .remark = refusal_of(one)});
    stopped = stopped || (options.stopped && options.stopped());  // building takes long, too
    const bool taken = costs.back().remark.empty() && !stopped;
    contestants.push_back(taken ? std::make_unique<Contestant>(one, plan, options) : nullptr);
  }
  const std::vector<std::int64_t> shape{options.sequences * options.length, settings.model.width};
  const at::Tensor x = random_input(shape, plan).requires_grad_();
  const at::Tensor slopes = random_input(shape, plan);
  std::vector<Turn> turns;
  std::vector<std::size_t> places;  // of the turns among the costs
  std::int64_t parts = 0, done = 0;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (contestants[i] == nullptr) continue;
    turns.push_back(contestants[i]->turn(x, slopes));
    places.push_back(i);
    parts += std::ssize(turns.back()) * (options.repeats + 1) + 1;  // 1: the memory
  }
  if (!stopped) progress(done, parts);
  const std::vector<TurnTimes> times =
      take_turns(turns, {.counted = stopped ? 0 : options.repeats,
                         .warmup = stopped ? 0 : 1,
                         .stops = [&](std::int64_t, std::size_t turn) {
                           progress(done += std::ssize(turns[turn]), parts);
                           stopped = options.stopped && options.stopped();
                           return stopped;
                         }});
  for (std::size_t turn = 0; turn < times.size(); ++turn) {
    costs[places[turn]] = contestants[places[turn]]->cost(times[turn], x, slopes, stopped);
    if (!stopped) progress(++done, parts);
  }
  return costs;
}

}  // namespace roformer
