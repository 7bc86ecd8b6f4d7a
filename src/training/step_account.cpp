#include "training/step_account.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace roformer {

StepAccount::StepAccount(TrainingState& state, DivergenceWatch& divergence,
                         std::function<void()> sound)
    : state_(state), divergence_(divergence), sound_(std::move(sound)) {}

void StepAccount::add(StepResult result, double learning_rate, std::int64_t stage) {
  state_.consumed.tokens += result.sums.tokens;
  state_.window.tokens += result.sums.tokens;
  report_.learning_rate = learning_rate;
  report_.stage = stage;
  unsettled_.push_back({.step = state_.consumed.steps, .result = std::move(result)});
}

bool StepAccount::is_full() const {
  constexpr std::size_t kMostUnsettled = 64;
  return unsettled_.size() >= kMostUnsettled;
}

void StepAccount::settle() {
  for (const auto& [step, result] : unsettled_) {
    report_.step = step;
    if (result.sums.targets == 0) continue;  // nothing to learn from: nothing was done
    const double loss_sum = result.sums.loss.item<double>();
    const double norm = result.outcome.gradient_norm.item<double>();
    ++state_.window.steps;
    report_.loss = loss_sum / static_cast<double>(result.sums.targets);
    report_.gradient_norm = norm;
    if (result.outcome.skipped.item<bool>()) {
      count_skipped(step, norm);
      continue;
    }
    state_.skipped_in_row = 0;
    // A step's loss belongs to the weights before it, so only the next step shows what it did.
    if (++sound_steps_ > 1) sound_();
    divergence_.finite(step, report_.loss);
    state_.window.loss_sum += loss_sum;
    state_.window.norm_sum += norm;
    state_.window.targets += result.sums.targets;
  }
  unsettled_.clear();
}

void StepAccount::count_skipped(std::int64_t step, double norm) {
  ++state_.window.skipped;
  ++state_.skipped_steps;
  ++state_.skipped_in_row;
  divergence_.skipped(step, {.loss = report_.loss, .gradient_norm = norm}, state_.skipped_in_row);
}

StepReport StepAccount::last_step() const {
  StepReport report = report_;
  const MetricsWindow& window = state_.window;
  // An empty window has no speed yet; the previous one has.
  if (window.tokens > 0) {
    report.tokens_per_second = static_cast<double>(window.tokens) / std::max(window.seconds, 1e-9);
  } else if (!state_.tokens_per_second.empty()) {
    report.tokens_per_second = state_.tokens_per_second.back();
  }
  return report;
}

StepReport StepAccount::window() const {
  StepReport report = last_step();
  const MetricsWindow& window = state_.window;
  const std::int64_t counted = window.steps - window.skipped;
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // JSON's null
  report.loss = counted > 0 ? window.loss_sum / static_cast<double>(window.targets) : kNothing;
  report.gradient_norm = counted > 0 ? window.norm_sum / static_cast<double>(counted) : kNothing;
  return report;
}

void StepAccount::close_window() {
  constexpr std::ptrdiff_t kRates = 1000;
  state_.tokens_per_second.push_back(last_step().tokens_per_second);
  if (std::ssize(state_.tokens_per_second) > kRates) {
    state_.tokens_per_second.erase(state_.tokens_per_second.begin());
  }
  state_.window = {};
}

}  // namespace roformer
