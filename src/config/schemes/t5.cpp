#include "config/schemes/t5.h"

#include <cmath>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> t5_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(T5Settings, buckets, bucket_count()),
      ROFORMER_OPTION(T5Settings, max_distance, bucket_distance()),
      ROFORMER_OPTION(T5Settings, scale,
                      {.help = "none: scores are not divided by the root of the head's width, "
                               "T5's own form; sqrt_d: as all other schemes here"}),
  };
}

void check_t5(const SchemeCheck& check) {
  const auto& settings = check.options<T5Settings>();
  check_buckets(check, settings.buckets, settings.max_distance);
}

// The first distance of the last bucket. In an encoder each side has half of the buckets.
std::int64_t t5_reach(const PositionSettings& position) {
  const auto& settings = position.of<T5Settings>();
  const auto count = static_cast<double>(settings.buckets / 2);
  const double exact = std::floor(count / 2);
  if (exact < 1) return static_cast<std::int64_t>(count);
  const double last = exact * std::pow(static_cast<double>(settings.max_distance) / exact,
                                       (count - 1 - exact) / (count - exact));
  return static_cast<std::int64_t>(std::ceil(last)) + 1;
}

}  // namespace

SchemeDefinition define_t5() {
  return {.facts = {.name = "t5",
                    .family = "bias",
                    .also_called = "t5_bias t5_relative relative_bias bucketed",
                    .formula = "S_ij += bias[bucket(j - i)], for each head",
                    .cost = "fused attention with a bias of H*L*L",
                    .longer = "yes, far distances share a bucket",
                    .paper = "Raffel 2020",
                    .held_against = "T5"},
          .options = t5_options,
          .check = check_t5,
          .trained_reach = t5_reach};
}

}  // namespace roformer
