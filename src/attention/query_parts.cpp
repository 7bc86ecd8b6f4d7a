#include "attention/query_parts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/gradient.h"

namespace roformer {

std::vector<QueryPart> query_parts(const AttentionContext& context, std::int64_t most) {
  const std::int64_t queries = context.queries.count(), keys = context.keys.count();
  std::vector<QueryPart> parts;
  for (std::int64_t first = 0; first < queries; first += most) {
    const std::int64_t count = std::min(most, queries - first);
    const std::int64_t behind = context.causal ? queries - first - count : 0;
    parts.push_back({.first = first, .count = count, .keys = keys - behind});
  }
  return parts;
}

AttentionContext part_of(const AttentionContext& context, const QueryPart& part) {
  AttentionContext result = context;
  result.queries = context.queries.part(part.first, part.count);
  result.keys = context.keys.part(0, part.keys);
  result.mask = pairs_of(context.mask, part);
  result.token_inputs = at::Tensor();
  if (context.drawn_positions.defined()) {
    result.drawn_positions = context.drawn_positions.narrow(1, 0, part.keys);
  }
  return result;
}

at::Tensor pairs_of(const at::Tensor& pairs, const QueryPart& part) {
  if (!pairs.defined()) return {};
  const at::Tensor rows = pairs.size(-2) == 1 ? pairs : pairs.narrow(-2, part.first, part.count);
  return rows.size(-1) == 1 ? rows : rows.narrow(-1, 0, part.keys);
}

std::vector<at::Tensor> by_queries(const at::Tensor& x, const std::vector<QueryPart>& parts) {
  std::vector<std::int64_t> counts;
  for (const QueryPart& part : parts) counts.push_back(part.count);
  return at::split_with_sizes(x, counts, 2);
}

std::vector<at::Tensor> by_keys(const at::Tensor& x, const std::vector<QueryPart>& parts) {
  GradientRecorder recorder("attention/by_keys", {x});
  std::vector<at::Tensor> views;
  for (const QueryPart& part : parts) views.push_back(x.detach().narrow(2, 0, part.keys));
  const at::Tensor like = x.detach();
  return recorder.finish(std::move(views), [like](const Gradients& gradients) -> Gradients {
    const at::Tensor sum =
        at::zeros(like.sizes(), like.options().dtype(accumulate_type(like.scalar_type())));
    for (const at::Tensor& part : gradients) {
      if (part.defined()) sum.narrow(2, 0, part.size(2)).add_(part);
    }
    return {sum.to(like.scalar_type())};
  });
}

std::vector<at::Tensor> by_own_keys(const at::Tensor& x, const std::vector<QueryPart>& parts) {
  std::vector<std::int64_t> counts;
  std::int64_t before = 0;
  for (const QueryPart& part : parts) {
    counts.push_back(part.keys - before);
    before = part.keys;
  }
  return at::split_with_sizes(x, counts, 2);
}

}  // namespace roformer
