#include "position/relative_vectors.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "position/relative_index.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

RelativeIndex clipped(const AttentionContext& context, std::int64_t left, std::int64_t right) {
  return relative_index(context.queries, context.keys, [=](std::int64_t distance) {
    return std::clamp(distance, -left, right) + left;
  });
}

}  // namespace

at::Tensor RelativeVectors::scores(const AttentionContext& context, const ScoreTerms& terms) const {
  const Tables& tables = tables_[static_cast<std::size_t>(context.layer)];
  return add_relative_products({.scores = terms.scores,
                                .vectors = terms.query * terms.scale,
                                .table = on_device(tables.key, context.device).unsqueeze(0),
                                .index = clipped(context, left_, right_)});
}

at::Tensor RelativeVectors::value_term(const AttentionContext& context,
                                       const at::Tensor& probabilities) const {
  const Tables& tables = tables_[static_cast<std::size_t>(context.layer)];
  return relative_sums(probabilities, on_device(tables.value, context.device).unsqueeze(0),
                       clipped(context, left_, right_));
}

}  // namespace roformer
