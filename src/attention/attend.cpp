#include "attention/attend.h"

#include <ATen/TensorOperators.h>

#include "attention/log_n.h"
#include "attention/masked_softmax.h"
#include "attention/wide_products.h"

namespace roformer {

Attended attend(const AttendInputs& in, bool with_scores) {
  const double scale = in.scheme.score_scale(in.query.size(-1));
  const at::ScalarType type = in.query.scalar_type();
  at::Tensor raw_query = in.query;
  if (in.attention.log_n != LogNScaling::none) {
    raw_query = raw_query * log_n_factors(in.attention, in.context, type);
  }
  at::Tensor query = raw_query, key = in.key, value = in.value;
  if (const auto rotation = in.scheme.rotation(in.context, in.query.size(-1))) {
    query = rotated(query, rotation->query);
    if (in.keys == CachedKeys::unrotated) {
      key = rotated(key, rotation->key);
      if (rotation->value) value = rotated(value, rotation->key);
    }
  }
  at::Tensor scores = content_scores(query, key, scale);
  if (in.scheme.has_content_scores()) {
    scores = in.scheme.scores(in.context, {.query = query,
                                           .key = key,
                                           .raw_query = raw_query,
                                           .raw_key = in.key,
                                           .scores = scores,
                                           .scale = scale});
  }
  Attended result;
  if (with_scores) {
    result.scores =
        in.bias.defined() ? scores.detach() + in.bias.detach() : scores.detach().clone();
  }
  at::Tensor probabilities =
      masked_softmax({.scores = scores, .bias = in.bias, .mask = in.context.mask});
  if (in.dropout.probability > 0) {
    probabilities = dropout(probabilities.flatten(0, -2), in.dropout).view_as(probabilities);
  }
  result.output = weighted_values(probabilities, value);
  if (in.scheme.has_value_term()) {
    result.output = result.output + in.scheme.value_term(in.context, probabilities).to(type);
  }
  return result;
}

KeyValue to_cache(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw) {
  if (scheme.cached_keys() == CachedKeys::unrotated) return raw;
  if (const auto rotation = scheme.rotation(context, raw.key.size(-1))) {
    raw.key = rotated(raw.key, rotation->key);
    if (rotation->value) raw.value = rotated(raw.value, rotation->key);
  }
  return raw;
}

}  // namespace roformer
