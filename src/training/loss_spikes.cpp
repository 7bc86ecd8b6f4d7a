#include "training/loss_spikes.h"

#include <algorithm>
#include <cmath>

namespace roformer {

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
