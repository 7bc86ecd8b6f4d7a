#include "metrics/language.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace roformer {

double perplexity(double mean_loss) {
  return std::exp(mean_loss);
}

double bits_per_character(double loss_sum, std::int64_t characters) {
  ROFORMER_ASSERT(characters > 0);
  return loss_sum / (static_cast<double>(characters) * std::numbers::ln2);
}

}  // namespace roformer
