#include "attention/log_n.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr std::int64_t kLeastEncoderLength = 16;

}  // namespace

double log_n_factor(LogNScaling scaling, std::int64_t n, std::int64_t training_length) {
  const bool encoder = scaling == LogNScaling::encoder;
  const std::int64_t counted = encoder ? std::max(n, kLeastEncoderLength) : n;
  const double factor =
      std::log(static_cast<double>(counted)) / std::log(static_cast<double>(training_length));
  return scaling == LogNScaling::query ? std::max(1.0, factor) : factor;
}

at::Tensor log_n_factors(const AttentionSettings& settings, const AttentionContext& context,
                         at::ScalarType type) {
  ROFORMER_ASSERT(settings.log_n != LogNScaling::none);
  std::vector<double> factors;
  std::vector<std::int64_t> shape;
  const auto add = [&](std::int64_t n) {
    factors.push_back(log_n_factor(settings.log_n, n, settings.log_n_length));
  };
  if (settings.log_n != LogNScaling::encoder) {
    for (std::int64_t i = 0; i < context.queries.count(); ++i) add(context.queries[i] + 1);
    shape = {1, 1, context.queries.count(), 1};
  } else {
    add(context.keys.count());
    shape = {1, 1, 1, 1};
  }
  return on_device(at::tensor(factors, at::kDouble).view(shape),
                   at::TensorOptions().dtype(type).device(context.device));
}

}  // namespace roformer
