#include "attention/attend.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "attention/log_n.h"
#include "attention/masked_softmax.h"
#include "attention/query_parts.h"
#include "attention/wide_products.h"
#include "tensor/dispatch.h"
#include "tensor/loops.h"

namespace roformer {
namespace {

constexpr std::int64_t kCausalQueries = 128;                 // of a part, where parts save work
constexpr std::int64_t kChangingQueries = 64;                // where keys change from part to part
constexpr std::int64_t kMostScores = std::int64_t{1} << 26;  // of a part, where they save memory

// All that the scores of some queries come from. Rotated, but for the raw ones.
struct Sides {
  at::Tensor query, raw_query;     // [B, H, Lq, D]
  at::Tensor key, raw_key, value;  // [B, H, Lk, D]
  at::Tensor bias;                 // [1 or B, H, Lq, Lk] or undefined
  at::Tensor sums;                 // the scheme's running sums, [B, H, Lk], or undefined
};

// Keys of a scheme that changes them, by the tokens in front of the queries.
at::Tensor changed_in_front(const AttendInputs& in, const at::Tensor& key) {
  const std::int64_t queries = in.query.size(2), before = key.size(2) - queries;
  if (before == 0) return key;
  AttentionContext context = in.context;
  context.queries = context.keys = in.context.keys.part(0, before);
  context.mask = at::Tensor();
  if (context.features.defined()) context.features = context.features.narrow(2, 0, before);
  const at::Tensor changed = in.scheme.changed_keys(context, key.narrow(2, 0, before));
  return at::cat({changed, key.narrow(2, before, queries).to(changed.scalar_type())}, 2);
}

Sides sides_of(const AttendInputs& in) {
  const at::ScalarType type = in.query.scalar_type();
  Sides sides{.raw_query = in.query, .key = in.key, .raw_key = in.key, .value = in.value};
  if (in.attention.log_n != LogNScaling::none) {
    const at::Tensor factors = log_n_factors(in.attention, in.context, accumulate_type(type));
    sides.raw_query = (sides.raw_query * factors).to(type);
  }
  const bool rotated_before = in.keys == CachedKeys::rotated;
  sides.query = rotated(in.scheme, rotated_before ? at_own_positions(in.context) : in.context,
                        sides.raw_query, TokenSide::query);
  if (!rotated_before) {
    const KeyValue held = rotated_keys(in.scheme, in.context, {.key = in.key, .value = in.value});
    sides.key = held.key, sides.value = held.value;
    if (in.scheme.form().changes_keys) sides.key = changed_in_front(in, sides.key);
  }
  sides.bias = in.bias;
  if (in.scheme.form().running_sums) sides.sums = in.scheme.running_sums(in.context);
  return sides;
}

// The bias, with the differences of the running sums where there are some.
at::Tensor added(const Sides& sides, at::ScalarType type) {
  if (!sides.sums.defined()) return sides.bias;
  const std::int64_t queries = sides.query.size(2), keys = sides.sums.size(2);
  const at::Tensor differences =
      (sides.sums.narrow(2, keys - queries, queries).unsqueeze(-1) - sides.sums.unsqueeze(-2))
          .to(type);
  return sides.bias.defined() ? sides.bias + differences : differences;
}

Attended attend_to(const AttendInputs& in, const Sides& sides, const AttentionContext& context,
                   bool with_scores) {
  const SchemeForm form = in.scheme.form();
  const double scale = in.scheme.score_scale(in.query.size(-1));
  const at::ScalarType type = in.query.scalar_type();
  at::Tensor scores;
  if (form.scores != ContentScores::own) scores = content_scores(sides.query, sides.key, scale);
  if (form.scores != ContentScores::none) {
    scores = in.scheme.scores(context, {.query = sides.query,
                                        .key = sides.key,
                                        .raw_query = sides.raw_query,
                                        .raw_key = sides.raw_key,
                                        .scores = scores,
                                        .scale = scale});
  }
  const at::Tensor bias = added(sides, scores.scalar_type());
  Attended result;
  if (with_scores) {
    result.scores = bias.defined() ? scores.detach() + bias.detach() : scores.detach().clone();
  }
  AttentionWeights own;
  if (form.weights) {
    own = in.scheme.weights(context, bias.defined() ? scores + bias : scores);
    if (with_scores) result.weights = own;
  }
  at::Tensor probabilities =
      own.weights.defined()
          ? own.weights
          : masked_softmax({.scores = scores, .bias = bias, .mask = context.mask});
  if (in.dropout.probability > 0) {
    probabilities = dropout(probabilities.flatten(0, -2), in.dropout).view_as(probabilities);
  }
  result.output = weighted_values(probabilities, sides.value);
  if (form.value_term) {
    result.output = result.output + in.scheme.value_term(context, probabilities).to(type);
  }
  if (own.remainder.defined()) {
    const at::Tensor term = in.scheme.remainder_term(context, own.remainder, sides.value);
    if (term.defined()) result.output = result.output + term.to(type);
  }
  return result;
}

// How many queries' scores are held at a time.
std::int64_t queries_at_a_time(const AttendInputs& in) {
  const std::int64_t queries = in.query.size(2), keys = in.key.size(2);
  const SchemeForm form = in.scheme.form();
  // A future that changes a token's result can't be left out; what is read with all tokens, as
  // features are, knows the queries as the last of them only, and so do weights of a scheme's own.
  const bool parted = in.context.causal ? form.can_cache
                                        : !form.features && !form.draws_positions &&
                                              !form.running_sums && !form.weights;
  // Dropout numbers the rows of all queries.
  if (!parted || in.dropout.probability > 0) return queries;
  if (in.most_queries > 0) return in.most_queries;
  if (!runs_loops(in.query)) return queries;  // each part is as many launches
  const std::int64_t row = in.query.size(0) * in.query.size(1) * keys;
  const std::int64_t most = std::clamp<std::int64_t>(kMostScores / std::max<std::int64_t>(1, row),
                                                     1, std::max<std::int64_t>(1, queries));
  if (!in.context.causal) return most;
  return std::min(most, form.changes_keys ? kChangingQueries : kCausalQueries);
}

// Part by part, so that the scores of one are gone or at rest before those of the next are made.
at::Tensor attend_in_parts(const AttendInputs& in, const Sides& sides,
                           const std::vector<QueryPart>& parts) {
  const bool changes_keys = in.scheme.form().changes_keys;
  std::vector<at::Tensor> key =
      changes_keys ? by_own_keys(sides.key, parts) : by_keys(sides.key, parts);
  const auto query = by_queries(sides.query, parts), raw_query = by_queries(sides.raw_query, parts),
             raw_key = by_keys(sides.raw_key, parts), value = by_keys(sides.value, parts);
  std::vector<at::Tensor> sums(parts.size()), bias(parts.size()), features(parts.size()), outputs;
  if (sides.sums.defined()) sums = by_keys(sides.sums, parts);
  if (sides.bias.defined()) bias = by_queries(sides.bias, parts);
  if (in.context.features.defined()) features = by_keys(in.context.features, parts);
  at::Tensor changed;  // the keys in front of a part, as they stand for its first query
  for (std::size_t n = 0; n < parts.size(); ++n) {
    AttentionContext context = part_of(in.context, parts[n]);
    context.features = features[n];
    if (changed.defined()) key[n] = at::cat({changed, key[n].to(changed.scalar_type())}, 2);
    const at::Tensor own_key = std::exchange(key[n], at::Tensor());
    const Sides own{.query = query[n],
                    .raw_query = raw_query[n],
                    .key = own_key,
                    .raw_key = raw_key[n],
                    .value = value[n],
                    .bias = bias[n].defined() ? bias[n].narrow(3, 0, parts[n].keys) : bias[n],
                    .sums = sums[n]};
    outputs.push_back(attend_to(in, own, context, false).output);
    if (changes_keys && n + 1 < parts.size()) changed = in.scheme.changed_keys(context, own_key);
  }
  return at::cat(outputs, 2);
}

}  // namespace

Attended attend(const AttendInputs& in, bool with_scores) {
  const Sides sides = sides_of(in);
  const std::int64_t most = queries_at_a_time(in);
  if (with_scores || most >= in.query.size(2)) {
    return attend_to(in, sides, in.context, with_scores);
  }
  return {.output = attend_in_parts(in, sides, query_parts(in.context, most))};
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
