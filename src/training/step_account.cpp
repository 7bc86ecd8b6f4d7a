#include "training/step_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/progress.h"
#include "training/checkpoint.h"

namespace roformer {
namespace {

constexpr const char* kRemedies =
    "lower training.learning_rate, clip gradients at a smaller norm (training.clip), lengthen "
    "training.warmup or set training.precision to fp32";

// Loss per target that no task exceeds unless it has diverged (or has not begun to learn).
constexpr double kHopelessLoss = 100;

// Prints every NaN alike: its sign means nothing.
double without_sign(double value) {
  return std::isnan(value) ? std::abs(value) : value;
}

}  // namespace

DivergenceWatch::DivergenceWatch(const RunDirectory& run, std::int64_t most_bad_steps,
                                 std::function<void()> make_room)
    : run_(run), most_bad_steps_(most_bad_steps), make_room_(std::move(make_room)) {}

void DivergenceWatch::skipped(std::int64_t step, const StepFigures& figures, std::int64_t in_row) {
  const std::string what =
      fmt::format("step {}: loss {}, gradient norm {}", format_count(step),
                  without_sign(figures.loss), without_sign(figures.gradient_norm));
  if (in_row >= most_bad_steps_) {
    diverged(fmt::format("{} steps in a row were not finite ({})", in_row, what));
  }
  make_room_();
  log::warn("{}; the step is skipped", what);
}

void DivergenceWatch::finite(std::int64_t step, double loss) {
  const double usual = spikes_.mean();
  if (spikes_.add(loss)) {
    make_room_();
    log::warn("step {}: the loss leaps to {:.4g} from about {:.4g}", format_count(step), loss,
              usual);
  }
  if (loss <= kHopelessLoss) {
    was_sound_ = true;
    hopeless_in_row_ = 0;
  } else if (was_sound_ && ++hopeless_in_row_ >= most_bad_steps_) {
    diverged(
        fmt::format("the loss is {:.3g} after {} steps in a row above {:.0f}: the training "
                    "has diverged",
                    loss, hopeless_in_row_, kHopelessLoss));
  }
}

void DivergenceWatch::require_finite(std::int64_t step, const StepResult& result,
                                     const std::vector<std::string>& first) const {
  const std::string at = "step " + format_count(step);
  for (const std::string& output : first) {
    if (output.empty()) continue;
    diverged(fmt::format("{}: the output of {} is not finite, those before it are", at, output));
  }
  if (!std::isfinite(result.sums.loss.item<double>())) {
    diverged(at + ": the loss is not finite, the outputs of all layers are");
  }
  if (result.outcome.skipped.item<bool>()) {
    diverged(at + ": the gradient is not finite, the loss and all outputs are");
  }
}

void DivergenceWatch::diverged(const std::string& what) const {
  make_room_();
  const std::vector<std::filesystem::path> kept = list_checkpoints(run_.checkpoints());
  const std::string left = kept.empty()
                               ? "there is no checkpoint yet"
                               : "the last checkpoint kept is " + kept.back().filename().string();
  const std::string hint =
      run_.is_confirmed() ? fmt::format("{} (all of these work with --resume); {}", kRemedies, left)
                          : fmt::format("{}; the previous run is restored", kRemedies);
  throw Diverged({.kind = ErrorKind::failure,
                  .message = what,
                  .location = run_.path().string(),
                  .hint = hint});
}

bool LossSpikes::add(double loss) {
  constexpr std::int64_t kFew = 20;  // losses, that say nothing about the others
  constexpr double kMemory = 50;     // steps
  constexpr double kDeviations = 6, kShare = 0.2;
  const double distance = loss - mean_;
  const bool far = count_ >= kFew && distance > kDeviations * std::sqrt(variance_) &&
                   distance > kShare * std::abs(mean_);
  const bool begins = far && !inside_;
  inside_ = far;
  // A spike moves what is usual only slowly.
  const double share =
      far ? 1 / (10 * kMemory) : 1 / std::min(kMemory, static_cast<double>(count_ + 1));
  mean_ += share * distance;
  variance_ = (1 - share) * (variance_ + share * distance * distance);
  ++count_;
  return begins;
}

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
