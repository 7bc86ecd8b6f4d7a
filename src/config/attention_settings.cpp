#include "config/attention_settings.h"

#include <algorithm>
#include <cmath>

namespace roformer {

std::int64_t favor_features(const AttentionSettings& attention, std::int64_t head_width) {
  if (attention.features > 0) return attention.features;
  const auto width = static_cast<double>(head_width);
  return std::max<std::int64_t>(2, 2 * std::llround(width * std::log(width) / 2));
}

std::int64_t linear_feature_count(const AttentionSettings& attention, std::int64_t head_width) {
  return attention.kernel == AttentionKernel::favor ? favor_features(attention, head_width)
                                                    : head_width;
}

}  // namespace roformer
