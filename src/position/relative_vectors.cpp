#include "position/relative_vectors.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "position/relative_index.h"

namespace roformer {
namespace {

RelativeIndex clipped(const AttentionPlace& place, std::int64_t left, std::int64_t right) {
  return relative_index(place.queries, place.keys, [=](std::int64_t distance) {
    return std::clamp(distance, -left, right) + left;
  });
}

}  // namespace

at::Tensor RelativeVectors::scores(const AttentionPlace& place, const ScoreTerms& terms) const {
  const Tables& tables = tables_[static_cast<std::size_t>(place.layer)];
  return add_relative_products({.scores = terms.scores,
                                .vectors = terms.query * terms.scale,
                                .table = tables.key.unsqueeze(0),
                                .index = clipped(place, left_, right_)});
}

at::Tensor RelativeVectors::value_term(const AttentionPlace& place,
                                       const at::Tensor& probabilities) const {
  const Tables& tables = tables_[static_cast<std::size_t>(place.layer)];
  return relative_sums(probabilities, tables.value.unsqueeze(0), clipped(place, left_, right_));
}

}  // namespace roformer
