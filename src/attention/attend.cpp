#include "attention/attend.h"

#include <ATen/TensorOperators.h>

#include <utility>

#include "attention/log_n.h"
#include "attention/masked_softmax.h"
#include "attention/wide_products.h"
#include "tensor/dispatch.h"

namespace roformer {

namespace {

// The bias, with the differences of the scheme's running sums where it has some.
at::Tensor with_running_sums(const AttendInputs& in, at::ScalarType type) {
  if (!in.scheme.form().running_sums) return in.bias;
  const at::Tensor sums = in.scheme.running_sums(in.context);
  const std::int64_t queries = in.query.size(2);
  const at::Tensor differences =
      (sums.narrow(2, sums.size(2) - queries, queries).unsqueeze(-1) - sums.unsqueeze(-2)).to(type);
  return in.bias.defined() ? in.bias + differences : differences;
}

}  // namespace

Attended attend(const AttendInputs& in, bool with_scores) {
  const SchemeForm form = in.scheme.form();
  const double scale = in.scheme.score_scale(in.query.size(-1));
  const at::ScalarType type = in.query.scalar_type();
  at::Tensor raw_query = in.query;
  if (in.attention.log_n != LogNScaling::none) {
    const at::Tensor factors = log_n_factors(in.attention, in.context, accumulate_type(type));
    raw_query = (raw_query * factors).to(type);
  }
  const bool rotated_before = in.keys == CachedKeys::rotated;
  at::Tensor query = rotated(in.scheme, rotated_before ? at_own_positions(in.context) : in.context,
                             raw_query, TokenSide::query);
  at::Tensor key = in.key, value = in.value;
  if (in.keys == CachedKeys::unrotated) {
    const KeyValue held = rotated_keys(in.scheme, in.context, {.key = key, .value = value});
    key = held.key, value = held.value;
  }
  at::Tensor scores;
  if (form.scores != ContentScores::own) scores = content_scores(query, key, scale);
  if (form.scores != ContentScores::none) {
    scores = in.scheme.scores(in.context, {.query = query,
                                           .key = key,
                                           .raw_query = raw_query,
                                           .raw_key = in.key,
                                           .scores = scores,
                                           .scale = scale,
                                           .changed_keys = in.changed_keys});
  }
  const at::Tensor bias = with_running_sums(in, scores.scalar_type());
  Attended result;
  if (with_scores) {
    result.scores = bias.defined() ? scores.detach() + bias.detach() : scores.detach().clone();
  }
  AttentionWeights own;
  if (form.weights) {
    own = in.scheme.weights(in.context, bias.defined() ? scores + bias : scores);
    if (with_scores) result.weights = own;
  }
  at::Tensor probabilities =
      own.weights.defined()
          ? own.weights
          : masked_softmax({.scores = scores, .bias = bias, .mask = in.context.mask});
  if (in.dropout.probability > 0) {
    probabilities = dropout(probabilities.flatten(0, -2), in.dropout).view_as(probabilities);
  }
  result.output = weighted_values(probabilities, value);
  if (form.value_term) {
    result.output = result.output + in.scheme.value_term(in.context, probabilities).to(type);
  }
  if (own.remainder.defined()) {
    const at::Tensor term = in.scheme.remainder_term(in.context, own.remainder, value);
    if (term.defined()) result.output = result.output + term.to(type);
  }
  return result;
}

at::Tensor rotated(const PositionScheme& scheme, const AttentionContext& context,
                   const at::Tensor& x, TokenSide side) {
  if (scheme.form().transform) return scheme.transformed(context, x, side);
  const auto rotation = scheme.rotation(context, x.size(-1));
  if (!rotation) return x;
  return rotated(x, side == TokenSide::query ? rotation->query : rotation->key);
}

KeyValue rotated_keys(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw) {
  raw.key = rotated(scheme, context, raw.key, TokenSide::key);
  if (scheme.form().transform) return raw;
  const auto rotation = scheme.rotation(context, raw.value.size(-1));
  if (rotation && rotation->value) raw.value = rotated(raw.value, rotation->key);
  return raw;
}

KeyValue to_cache(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw) {
  if (scheme.form().cached_keys == CachedKeys::unrotated) return raw;
  return rotated_keys(scheme, context, std::move(raw));
}

}  // namespace roformer
