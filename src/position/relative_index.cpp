#include "position/relative_index.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tensor/aten.h"

namespace roformer {

RelativeIndex relative_index(const Positions& queries, const Positions& keys,
                             const std::function<std::int64_t(std::int64_t)>& row) {
  const std::int64_t q = queries.count(), k = keys.count();
  if (queries.contiguous() && keys.contiguous()) {
    at::Tensor rows = at::empty({q + k - 1}, at::kInt);
    std::int32_t* const values = rows.mutable_data_ptr<std::int32_t>();
    const std::int64_t least = keys[0] - queries[q - 1];
    for (std::int64_t i = 0; i < q + k - 1; ++i) {
      values[i] = static_cast<std::int32_t>(row(least + i));
    }
    return RelativeIndex::of_differences(std::move(rows), q, k);
  }
  at::Tensor rows = at::empty({q, k}, at::kInt);
  std::int32_t* values = rows.mutable_data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < q; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      *values++ = static_cast<std::int32_t>(row(keys[j] - queries[i]));
    }
  }
  return RelativeIndex::of_pairs(std::move(rows));
}

DistanceRange distance_range(const Positions& queries, const Positions& keys) {
  const std::int64_t least = keys.least() - queries.largest();
  return {.least = least, .count = keys.largest() - queries.least() - least + 1};
}

at::Tensor distances_of(const DistanceRange& range) {
  return at::arange(range.least, range.least + range.count, at::kDouble);
}

at::Tensor bias_of_distance(const Positions& queries, const Positions& keys,
                            const std::function<at::Tensor(const at::Tensor&)>& values) {
  const DistanceRange range = distance_range(queries, keys);
  const RelativeIndex index =
      relative_index(queries, keys, [&](std::int64_t distance) { return distance - range.least; });
  return expand_relative(values(distances_of(range)), index);
}

namespace {

// The tolerance for logarithms that should be whole numbers.
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

std::int64_t deberta_row(std::int64_t past, const DebertaSettings& settings) {
  const std::int64_t span = settings.buckets > 0 ? settings.buckets : settings.span;
  if (settings.buckets > 0 && settings.index == DebertaIndex::code &&
      past <= -settings.max_position) {
    return 0;
  }
  const std::int64_t distance =
      settings.buckets > 0 ? deberta_bucket(past, settings.buckets, settings.max_position) : past;
  return std::clamp<std::int64_t>(distance + span, 0, 2 * span - 1);
}

ProjectedRows projected_rows(const at::Tensor& vectors, const at::Tensor& rows,
                             const at::Tensor& weight) {
  const std::int64_t heads = vectors.size(1), width = vectors.size(3);
  if (vectors.size(0) * vectors.size(2) < width) {
    return {.vectors = at::matmul(vectors.to(weight.scalar_type()),
                                  weight.view({heads, width, weight.size(1)})),
            .table = rows.unsqueeze(0)};
  }
  return {.vectors = vectors, .table = projected_table(rows, weight, heads)};
}

at::Tensor projected_table(const at::Tensor& rows, const at::Tensor& weight, std::int64_t heads) {
  return at::matmul(rows, weight.t()).view({rows.size(0), heads, -1}).transpose(0, 1);
}

}  // namespace roformer
