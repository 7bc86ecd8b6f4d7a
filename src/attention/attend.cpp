#include "attention/attend.h"

#include <algorithm>
#include <utility>

#include "attention/explicit_scores.h"
#include "tensor/aten.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"

namespace roformer {

std::vector<QueryPart> query_parts(const AttentionContext& context, std::int64_t most) {
  const std::int64_t queries = context.queries.count(), keys = context.keys.count();
  std::vector<QueryPart> parts;
  for (std::int64_t first = 0; first < queries; first += most) {
    const std::int64_t count = std::min(most, queries - first);
    const std::int64_t later = context.causal ? queries - first - count : 0;
    parts.push_back({.first = first, .count = count, .keys = keys - later});
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

namespace {

constexpr std::int64_t kCausalQueries = 128;   // queries of a causal part: skips hidden keys
constexpr std::int64_t kChangingQueries = 64;  // the same for schemes that change keys
constexpr std::int64_t kMostScores = std::int64_t{1} << 26;  // bounds the memory of a part's scores

// Both sides of the products, rotated except for the raw ones.
struct Sides {
  at::Tensor query, raw_query;     // [B, H, Lq, D]
  at::Tensor key, raw_key, value;  // [B, H, Lk, D]
  at::Tensor bias;                 // [1 or B, H, Lq, Lk] or undefined
  at::Tensor sums;                 // the scheme's running sums, [B, H, Lk], or undefined
};

// Keys with the changes that the tokens before the queries make to them.
at::Tensor changed_before_queries(const AttendInputs& in, const at::Tensor& key) {
  const std::int64_t queries = in.query.size(2), before = key.size(2) - queries;
  if (before == 0) return key;
  AttentionContext context = in.context;
  context.queries = context.keys = in.context.keys.part(0, before);
  context.mask = at::Tensor();
  if (context.token_inputs.defined())
    context.token_inputs = context.token_inputs.narrow(2, 0, before);
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
    if (in.scheme.capabilities().changes_keys) sides.key = changed_before_queries(in, sides.key);
  }
  sides.bias = in.bias;
  if (in.scheme.capabilities().running_sums) sides.sums = in.scheme.running_sums(in.context);
  return sides;
}

// The bias plus the differences of the running sums.
at::Tensor total_bias(const Sides& sides, at::ScalarType type) {
  if (!sides.sums.defined()) return sides.bias;
  const std::int64_t queries = sides.query.size(2), keys = sides.sums.size(2);
  const at::Tensor differences =
      (sides.sums.narrow(2, keys - queries, queries).unsqueeze(-1) - sides.sums.unsqueeze(-2))
          .to(type);
  return sides.bias.defined() ? sides.bias + differences : differences;
}

Attended attend_to(const AttendInputs& in, const Sides& sides, const AttentionContext& context,
                   bool with_scores) {
  const SchemeCapabilities capabilities = in.scheme.capabilities();
  const double scale = in.scheme.score_scale(in.query.size(-1));
  const at::ScalarType type = in.query.scalar_type();
  at::Tensor scores;
  if (capabilities.scores != ContentScores::own)
    scores = content_scores(sides.query, sides.key, scale);
  if (capabilities.scores != ContentScores::none) {
    scores = in.scheme.scores(context, {.query = sides.query,
                                        .key = sides.key,
                                        .raw_query = sides.raw_query,
                                        .raw_key = sides.raw_key,
                                        .scores = scores,
                                        .scale = scale});
  }
  const at::Tensor bias = total_bias(sides, scores.scalar_type());
  Attended result;
  if (with_scores) {
    result.scores = bias.defined() ? scores.detach() + bias.detach() : scores.detach().clone();
  }
  AttentionWeights own;
  if (capabilities.weights) {
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
  if (capabilities.value_term) {
    result.output = result.output + in.scheme.value_term(context, probabilities).to(type);
  }
  if (own.remainder.defined()) {
    const at::Tensor term = in.scheme.remainder_term(context, own.remainder, sides.value);
    if (term.defined()) result.output = result.output + term.to(type);
  }
  return result;
}

// Whether the queries may be processed in parts, each with the keys it can see.
bool can_split_queries(const AttendInputs& in) {
  // Dropout's random numbers are numbered over the rows of all queries.
  if (in.dropout.probability > 0) return false;
  const SchemeCapabilities capabilities = in.scheme.capabilities();
  // A causal part is computed without the tokens after it, so these must not change its result.
  if (in.context.causal) return capabilities.can_cache;
  // Without a causal mask a part keeps all keys, but these hooks assume that the queries are the
  // last of the keys.
  return !capabilities.token_inputs && !capabilities.draws_positions &&
         !capabilities.running_sums && !capabilities.weights;
}

// The number of queries whose scores are held at a time.
std::int64_t queries_at_a_time(const AttendInputs& in) {
  const std::int64_t queries = in.query.size(2), keys = in.key.size(2);
  if (!can_split_queries(in)) return queries;
  if (in.most_queries > 0) return in.most_queries;
  if (!runs_loops(in.query)) return queries;  // on a GPU every part adds kernel launches
  const std::int64_t row = in.query.size(0) * in.query.size(1) * keys;
  const std::int64_t most = std::clamp<std::int64_t>(kMostScores / std::max<std::int64_t>(1, row),
                                                     1, std::max<std::int64_t>(1, queries));
  if (!in.context.causal) return most;
  return std::min(most, in.scheme.capabilities().changes_keys ? kChangingQueries : kCausalQueries);
}

// The inputs of every part. Splitting them at once keeps one autograd node for each tensor.
struct PartInputs {
  std::vector<at::Tensor> query, raw_query, key, raw_key, value, bias, sums, token_inputs;

  PartInputs(const AttendInputs& in, const Sides& sides, const std::vector<QueryPart>& parts)
      : query(by_queries(sides.query, parts)),
        raw_query(by_queries(sides.raw_query, parts)),
        key(in.scheme.capabilities().changes_keys ? by_own_keys(sides.key, parts)
                                                  : by_keys(sides.key, parts)),
        raw_key(by_keys(sides.raw_key, parts)),
        value(by_keys(sides.value, parts)),
        bias(parts.size()),
        sums(parts.size()),
        token_inputs(parts.size()) {
    if (sides.bias.defined()) bias = by_queries(sides.bias, parts);
    if (sides.sums.defined()) sums = by_keys(sides.sums, parts);
    if (in.context.token_inputs.defined()) token_inputs = by_keys(in.context.token_inputs, parts);
  }

  // The inputs of part n. Releases its keys, so that they can be freed with the part.
  Sides take(std::size_t n, const QueryPart& part) {
    return {.query = query[n],
            .raw_query = raw_query[n],
            .key = std::exchange(key[n], at::Tensor()),
            .raw_key = raw_key[n],
            .value = value[n],
            .bias = bias[n].defined() ? bias[n].narrow(3, 0, part.keys) : bias[n],
            .sums = sums[n]};
  }
};

// Processes the queries in parts: the scores of a part are released before the next part's exist.
at::Tensor attend_in_parts(const AttendInputs& in, const Sides& sides,
                           const std::vector<QueryPart>& parts) {
  const bool changes_keys = in.scheme.capabilities().changes_keys;
  PartInputs inputs(in, sides, parts);
  std::vector<at::Tensor> outputs;
  at::Tensor changed;  // the keys before the part, as its first query sees them
  for (std::size_t n = 0; n < parts.size(); ++n) {
    AttentionContext context = part_of(in.context, parts[n]);
    context.token_inputs = inputs.token_inputs[n];
    Sides part = inputs.take(n, parts[n]);
    if (changed.defined()) part.key = at::cat({changed, part.key.to(changed.scalar_type())}, 2);
    outputs.push_back(attend_to(in, part, context, false).output);
    if (changes_keys && n + 1 < parts.size()) changed = in.scheme.changed_keys(context, part.key);
  }
  return at::cat(outputs, 2);
}

}  // namespace

Attended attend(const AttendInputs& in, bool with_scores) {
  note_attention(AttentionUse::scores, in.query);
  const Sides sides = sides_of(in);
  const std::int64_t most = queries_at_a_time(in);
  if (with_scores || most >= in.query.size(2)) {
    return attend_to(in, sides, in.context, with_scores);
  }
  return {.output = attend_in_parts(in, sides, query_parts(in.context, most))};
}

at::Tensor rotated(const PositionScheme& scheme, const AttentionContext& context,
                   const at::Tensor& x, TokenSide side) {
  if (scheme.capabilities().transform) return scheme.transformed(context, x, side);
  const auto rotation = scheme.rotation(context, x.size(-1));
  if (!rotation) return x;
  return rotated(x, side == TokenSide::query ? rotation->query : rotation->key);
}

KeyValue rotated_keys(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw) {
  raw.key = rotated(scheme, context, raw.key, TokenSide::key);
  if (scheme.capabilities().transform) return raw;
  const auto rotation = scheme.rotation(context, raw.value.size(-1));
  if (rotation && rotation->value) raw.value = rotated(raw.value, rotation->key);
  return raw;
}

KeyValue to_cache(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw) {
  if (scheme.capabilities().cached_keys == CachedKeys::unrotated) return raw;
  return rotated_keys(scheme, context, std::move(raw));
}

}  // namespace roformer
