#include "attention/linear_attention.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "tensor/aten.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"
#include "tensor/linear_attention_operations.h"
#include "tensor/linear_heads.h"
#include "tensor/on_device.h"

namespace roformer {

void DenominatorCheck::look(const at::Tensor& denominator, const at::Tensor& bound) {
  if (present_ == nullptr) return;
  const at::Tensor shares = (denominator.detach() / bound.detach()).to(at::kFloat);
  const at::Tensor counts = bound.detach() > 0;
  const at::Tensor known = at::where(counts, shares, at::ones_like(shares));
  const auto add = [](at::Tensor& sum, const at::Tensor& more) {
    sum = sum.defined() ? sum + more : more;
  };
  add(present_->count_, counts.sum());
  add(present_->small_, (known < kSmallDenominator).sum());
  const at::Tensor least = known.min();
  present_->least_ = present_->least_.defined() ? at::minimum(present_->least_, least) : least;
}

DenominatorFigures DenominatorCheck::figures() const {
  if (!count_.defined()) return {};
  return {.count = count_.item<std::int64_t>(),
          .small = small_.item<std::int64_t>(),
          .least = least_.item<double>()};
}

namespace {

// The least denominator: keeps the quotient's gradient, which divides by the denominator's square,
// finite.
constexpr double kLeastDenominator = 1e-18;

// The sum of key^T value over tokens: [.., L, F] and [.., L, D] -> [.., F, D].
at::Tensor state_of(const at::Tensor& key, const at::Tensor& value) {
  return at::matmul(key.transpose(-2, -1), value);
}

at::Tensor without_hidden(const at::Tensor& features, const at::Tensor& mask) {
  if (!mask.defined()) return features;
  ROFORMER_ASSERT(mask.dim() == 4 && mask.size(-2) == 1);
  return features * mask.transpose(-2, -1).to(features.scalar_type());  // [B, 1, Lk, 1]
}

}  // namespace

LinearFeatures linear_features(const LinearAttentionInputs& in) {
  at::Tensor query = in.query, key = in.key;
  const bool before = in.attention.linear_rotation == LinearRotation::before;
  const auto rotate = [&](at::Tensor& q, at::Tensor& k) {
    if (const auto rotation = in.scheme.rotation(in.context, q.size(-1))) {
      q = rotated(q, rotation->query);
      k = rotated(k, rotation->key);
    }
  };
  if (before) rotate(query, key);
  LinearFeatures result;
  if (in.attention.kernel == AttentionKernel::elu) {
    result.query = at::elu(query) + 1;
    result.key = at::elu(key) + 1;
  } else {
    const auto features = [&](const at::Tensor& x, FavorStabilizer stabilizer) {
      return favor_features(
          {.x = x,
           .matrix = in.matrix,
           .epsilon = in.attention.favor_epsilon,
           .stabilizer = in.attention.favor_stabilize ? stabilizer : FavorStabilizer::none,
           .least = in.least_stabilizer});
    };
    result.query = features(query, FavorStabilizer::of_token).features;
    const FavorFeatures of_key = features(key, FavorStabilizer::of_head);
    result.key = of_key.features;
    result.stabilizer = of_key.stabilizer;
  }
  result.key = without_hidden(result.key, in.context.mask);
  result.rotated_query = result.query;
  result.rotated_key = result.key;
  if (!before) rotate(result.rotated_query, result.rotated_key);
  return result;
}

at::Tensor linear_denominator(const LinearFeatures& features, bool causal,
                              const LinearSums& before) {
  const std::int64_t queries = features.query.size(-2), keys = features.key.size(-2);
  // First the keys that all queries see, then those of the queries' own tokens.
  const std::int64_t shared = causal ? keys - queries : keys;
  at::Tensor sums = before.denominator;  // [B, H, 1, F]
  if (shared > 0) {
    const at::Tensor sum = features.key.narrow(-2, 0, shared).sum(-2, true);
    sums = sums.defined() ? sums + sum : sum;
  }
  at::Tensor result;
  if (sums.defined()) result = (features.query * sums).sum(-1, true);
  if (causal) {
    const at::Tensor own =
        causal_denominators(features.query, features.key.narrow(-2, shared, queries));
    result = result.defined() ? result + own : own;
  }
  if (DenominatorCheck::wanted() && !before.denominator.defined()) {
    const at::Tensor norms = features.key.detach().norm(2, {-1}, true);
    const at::Tensor seen = causal ? norms.cumsum(-2).slice(-2, -queries) : norms.sum(-2, true);
    const at::Tensor bound = features.query.detach().norm(2, {-1}, true) * seen;
    DenominatorCheck::look(result, bound);
  }
  return at::clamp_min(result, kLeastDenominator);  // nothing visible: the numerator is 0 too
}

at::Tensor linear_attention(const LinearFeatures& features, const at::Tensor& value, bool causal,
                            const LinearSums& earlier) {
  const at::Tensor &query = features.rotated_query, &key = features.rotated_key;
  note_attention(AttentionUse::linear, query);
  const std::int64_t queries = query.size(-2), keys = key.size(-2), before = keys - queries;
  ROFORMER_ASSERT(!earlier.numerator.defined() || (causal && before == 0));
  const at::Tensor denominator = linear_denominator(features, causal, earlier);
  if (!causal) return at::matmul(query, state_of(key, value)) / denominator;
  at::Tensor sums =
      causal_products(query, key.narrow(-2, before, queries), value.narrow(-2, before, queries));
  at::Tensor past = earlier.numerator;  // [B, H, F, D]
  if (before > 0) past = state_of(key.narrow(-2, 0, before), value.narrow(-2, 0, before));
  if (past.defined()) sums = sums + at::matmul(query, past);
  return sums / denominator;
}

at::Tensor attend_linearly(const LinearAttentionInputs& in, const at::Tensor& value, bool causal) {
  const bool before = in.attention.linear_rotation == LinearRotation::before;
  if (can_attend_linear_heads(value) && in.query.sizes() == in.key.sizes() &&
      !in.context.mask.defined()) {
    note_attention(AttentionUse::linear, in.query);
    const std::int64_t width = in.query.size(-1);
    const LinearHeadsResult result =
        linear_heads({.query = in.query,
                      .key = in.key,
                      .value = value,
                      .causal = causal,
                      .matrix = in.matrix,
                      .epsilon = in.attention.favor_epsilon,
                      .stabilized = in.attention.favor_stabilize,
                      .rotation = in.scheme.rotation(
                          in.context, before || !in.matrix.defined() ? width : in.matrix.size(0)),
                      .rotates_features = !before,
                      .least_denominator = kLeastDenominator},
                     DenominatorCheck::wanted());
    if (DenominatorCheck::wanted()) DenominatorCheck::look(result.denominator, result.bound);
    return result.output;
  }
  // With bfloat16's 8 bits of mantissa a sum over many keys would stop growing.
  const at::ScalarType type = value.scalar_type(), wide = accumulate_type(type);
  LinearAttentionInputs inputs = in;
  inputs.query = in.query.to(wide);
  inputs.key = in.key.to(wide);
  return linear_attention(linear_features(inputs), value.to(wide), causal).to(type);
}

std::uint64_t favor_key(const AttentionSettings& attention, std::uint64_t seed, std::int64_t step) {
  if (attention.redraw == 0) return 0;
  return random_key(
      {random_word("FAVOR+ features"), seed, static_cast<std::uint64_t>(step / attention.redraw)});
}

at::Tensor favor_matrix(std::int64_t features, std::int64_t head_width, std::uint64_t key) {
  Random random(key);
  const auto gaussian = [&](std::int64_t rows) {
    at::Tensor matrix = at::empty({rows, head_width}, at::kDouble);
    double* const values = matrix.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < matrix.numel(); ++i) values[i] = random.normal();
    return matrix;
  };
  std::vector<at::Tensor> blocks;
  for (std::int64_t done = 0; done < features; done += head_width) {
    const at::Tensor rotation = std::get<0>(at::linalg_qr(gaussian(head_width)));
    blocks.push_back(rotation.narrow(0, 0, std::min(head_width, features - done)));
  }
  return at::cat(blocks, 0) * gaussian(features).norm(2, {1}, true);
}

namespace {

// rotated_key and key [.., L, F], value [B, H, L, D].
LinearSums sums_of(const at::Tensor& rotated_key, const at::Tensor& key, const at::Tensor& value) {
  return {.numerator = at::matmul(rotated_key.transpose(-2, -1), value),
          .denominator = key.sum(-2, true)};
}

LinearSums sum(const LinearSums& a, const LinearSums& b) {
  if (!a.numerator.defined()) return b;
  return {.numerator = a.numerator + b.numerator, .denominator = a.denominator + b.denominator};
}

LinearSums selected(const LinearSums& sums, const at::Tensor& rows) {
  if (!sums.numerator.defined()) return sums;
  return {.numerator = at::index_select(sums.numerator, 0, rows),
          .denominator = at::index_select(sums.denominator, 0, rows)};
}

}  // namespace

at::Tensor LinearState::append(const LinearAttentionInputs& in, const at::Tensor& value) {
  ROFORMER_ASSERT(in.context.queries == in.context.keys && !in.context.mask.defined());
  const at::ScalarType type = value.scalar_type(), wide = accumulate_type(type);
  LinearAttentionInputs inputs = in;
  inputs.query = in.query.to(wide);
  inputs.key = in.key.to(wide);
  inputs.least_stabilizer = stabilizer_;
  const LinearFeatures features = linear_features(inputs);
  const at::Tensor values = value.to(wide);
  if (stabilizer_.defined()) shrink(features.stabilizer);
  stabilizer_ = features.stabilizer;
  const at::Tensor output = linear_attention(features, values, /*causal=*/true, sums_);
  sums_ = sum(sums_, sums_of(features.rotated_key, features.key, values));
  if (stabilizer_.defined() && in.attention.favor_epsilon > 0) {
    const at::Tensor constant = at::full_like(
        features.key, in.attention.favor_epsilon * favor_share(features.key.size(-1)));
    const bool before = in.attention.linear_rotation == LinearRotation::before;
    const auto rotation = before ? std::nullopt : in.scheme.rotation(in.context, constant.size(-1));
    constants_ = sum(constants_, sums_of(rotation ? rotated(constant, rotation->key) : constant,
                                         constant, values));
  }
  return output.to(type);
}

void LinearState::shrink(const at::Tensor& stabilizer) {
  const at::Tensor factor = (stabilizer_ - stabilizer).exp();  // [B, H, 1, 1]
  const auto shrunk = [&](const at::Tensor& sum, const at::Tensor& constant) {
    return constant.defined() ? (sum - constant) * factor + constant : sum * factor;
  };
  sums_ = {.numerator = shrunk(sums_.numerator, constants_.numerator),
           .denominator = shrunk(sums_.denominator, constants_.denominator)};
}

void LinearState::reorder(std::span<const std::int64_t> sources) {
  if (!sums_.numerator.defined()) return;  // of a layer that has softmax attention
  const at::Tensor rows =
      on_device(at::tensor(at::IntArrayRef(sources.data(), sources.size()), at::kLong),
                sums_.numerator.device());
  sums_ = selected(sums_, rows);
  constants_ = selected(constants_, rows);
  if (stabilizer_.defined()) stabilizer_ = at::index_select(stabilizer_, 0, rows);
}

}  // namespace roformer
