#include "position/distance_buckets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace roformer {
namespace {

// How far a logarithm may miss a whole number that it should be.
constexpr double kSlack = 1e-12;

double log_ratio(std::int64_t x, std::int64_t from, std::int64_t to) {
  const auto base = static_cast<double>(from);
  return std::log(static_cast<double>(x) / base) / std::log(static_cast<double>(to) / base);
}

}  // namespace

std::int64_t t5_bucket(std::int64_t distance, const DistanceBuckets& in) {
  const std::int64_t count = in.bidirectional ? in.buckets / 2 : in.buckets;
  const std::int64_t offset = in.bidirectional && distance > 0 ? count : 0;
  const std::int64_t n =
      in.bidirectional ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
  const std::int64_t exact = count / 2;
  if (n < exact) return offset + n;
  if (n >= in.max_distance || exact == 0) return offset + count - 1;
  const double step = log_ratio(n, exact, in.max_distance) * static_cast<double>(count - exact);
  return offset + std::min(count - 1, exact + static_cast<std::int64_t>(std::floor(step + kSlack)));
}

std::int64_t deberta_bucket(std::int64_t past, std::int64_t buckets, std::int64_t max_position) {
  const std::int64_t middle = buckets / 2;
  const std::int64_t clamped = std::clamp(past, -(max_position - 1), max_position - 1);
  const std::int64_t distance = std::abs(clamped);
  if (distance <= middle) return clamped;
  const double step =
      log_ratio(distance, middle, max_position - 1) * static_cast<double>(middle - 1);
  const std::int64_t bucket = static_cast<std::int64_t>(std::ceil(step - kSlack)) + middle;
  return clamped < 0 ? -bucket : bucket;
}

}  // namespace roformer
