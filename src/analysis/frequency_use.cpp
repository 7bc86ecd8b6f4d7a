#include "analysis/frequency_use.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "attention/explicit_scores.h"
#include "tensor/rotation.h"

namespace roformer {
namespace {

// By the angle that one more position rotates each pair; undefined factors of tables do not matter.
std::vector<double> wavelengths_of(const Rotation& rotation, const Positions& positions) {
  std::vector<double> result;
  const at::Tensor cosine = rotation.cosine.to(at::kDouble).cpu().contiguous();
  const at::Tensor sine = rotation.sine.to(at::kDouble).cpu().contiguous();
  const std::int64_t pairs = cosine.size(1);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const auto angle = [&](std::int64_t row) {
      return std::atan2(sine.const_data_ptr<double>()[row * pairs + p],
                        cosine.const_data_ptr<double>()[row * pairs + p]);
    };
    const double steps =
        positions.count() > 1 ? static_cast<double>(positions[1] - positions[0]) : 1;
    const double per_token =
        positions.count() > 1
            ? std::abs(std::remainder(angle(1) - angle(0), 2 * std::numbers::pi)) / steps
            : 0;
    // In float32 the angle of a pair that is not rotated is as good as 0.
    result.push_back(per_token > 1e-9 ? 2 * std::numbers::pi / per_token
                                      : std::numeric_limits<double>::infinity());
  }
  return result;
}

// The two features of a pair, [B, H, L, 2].
at::Tensor pair_of(const at::Tensor& x, const Rotation& rotation, std::int64_t pair) {
  const bool interleaved = rotation.layout == RotaryLayout::interleaved;
  const std::int64_t first = interleaved ? 2 * pair : pair;
  const std::int64_t second = interleaved ? first + 1 : pair + rotation.width() / 2;
  return at::stack({x.select(-1, first), x.select(-1, second)}, -1);
}

at::Tensor plus(const at::Tensor& sum, const at::Tensor& more) {
  return sum.defined() ? sum + more : more;
}

}  // namespace

void FrequencyRecorder::add(const AttendInputs& in, std::int64_t sequences) {
  if (in.scheme.capabilities().transform || in.scheme.capabilities().scores != ContentScores::none)
    return;
  const auto rotation = in.scheme.rotation(in.context, in.query.size(-1));
  const std::int64_t count = std::min(sequences, in.query.size(0));
  // A text of one token has no distances.
  if (!rotation || count < 1 || in.query.size(2) < 2) return;
  at::Tensor raw = in.query.narrow(0, 0, count);
  if (in.attention.log_n != LogNScaling::none) {
    raw = raw * log_n_factors(in.attention, in.context, raw.scalar_type());
  }
  const at::Tensor query = rotated(raw, rotation->query).to(at::kDouble);
  const at::Tensor key = rotated(in.key.narrow(0, 0, count), rotation->key).to(at::kDouble);
  const std::int64_t pairs = rotation->query.width() / 2, length = query.size(2);
  const at::Tensor visible =
      in.context.mask.defined()
          ? in.context.mask.expand({1, 1, length, length})[0][0]
          : at::ones({length, length}, at::TensorOptions().dtype(at::kBool).device(query.device()));
  const at::Tensor keys = visible.sum(-1, true).clamp_min(1).to(at::kDouble);
  const double scale = in.scheme.score_scale(query.size(-1));
  const auto scores = [&](const at::Tensor& q, const at::Tensor& k) {
    const at::Tensor s = at::where(visible, at::matmul(q, k.transpose(-2, -1)) * scale, 0.0);
    return at::where(visible, s - s.sum(-1, true) / keys, 0.0);  // less the mean of each row
  };
  const at::Tensor all = scores(query, key);
  const auto covariance = [&](const at::Tensor& part) {
    return (part * all).sum(at::IntArrayRef({2, 3}));  // [B, H]
  };
  std::vector<at::Tensor> covariances, query_squares, key_squares;
  at::Tensor rest = covariance(all);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const at::Tensor q = pair_of(query, rotation->query, p), k = pair_of(key, rotation->key, p);
    covariances.push_back(covariance(scores(q, k)));
    rest = rest - covariances.back();
    query_squares.push_back(q.square().sum(at::IntArrayRef({0, 2, 3})));
    key_squares.push_back(k.square().sum(at::IntArrayRef({0, 2, 3})));
  }
  covariances.push_back(rest);
  const at::Tensor of_texts = at::stack(covariances, 2);
  shares_.add(of_texts, of_texts.sum(2, true));
  query_squares_ = plus(query_squares_, at::stack(query_squares, 1));
  key_squares_ = plus(key_squares_, at::stack(key_squares, 1));
  tokens_ += static_cast<double>(count * length);
  if (wavelengths_.empty()) wavelengths_ = wavelengths_of(rotation->key, in.context.keys);
}

std::optional<FrequencyUse> FrequencyRecorder::result() const {
  if (tokens_ == 0) return std::nullopt;
  return FrequencyUse{.wavelengths = wavelengths_,
                      .query_norm = (query_squares_ / tokens_).sqrt(),
                      .key_norm = (key_squares_ / tokens_).sqrt(),
                      .variance_share = shares_.ratio(),
                      .share_error = shares_.standard_error()};
}

}  // namespace roformer
