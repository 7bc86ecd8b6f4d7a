#include "training/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

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
  const std::string what = fmt::format("step {}: loss {}, gradient norm {}", format_count(step),
                                       without_sign(figures.loss),
                                       without_sign(figures.gradient_norm));
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
      run_.is_confirmed() ? fmt::format("{}, each can be given with --resume; {}", kRemedies, left)
                          : fmt::format("{}; the run that was there before comes back", kRemedies);
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

}  // namespace roformer
