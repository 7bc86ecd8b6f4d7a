// ReRoPE and Leaky ReRoPE (Su, kexue.fm/archives/9708): rotary positions whose distances are cut at
// a window, or grow slower beyond it. Near scores are RoPE's; far ones come from a second rotation
// of the raw q and k. Section 11.
#include "position/rerope.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "position/rotary_table.h"
#include "position/scheme.h"
#include "tensor/gradient.h"

namespace roformer {
namespace {

constexpr std::int64_t kChunk = 128;  // queries whose far scores are held at a time

// scores[i, j] = query_i . key_j wherever far[i, j], a few queries at a time. scores [B, H, Lq, Lk]
// change in place; far bool [Lq, Lk].
at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far) {
  GradientRecorder recorder({scores, query, key});
  struct Part {
    std::int64_t row, rows;  // queries; all keys
  };
  std::vector<Part> parts;
  for (std::int64_t row = 0; row < far.size(0); row += kChunk) {
    const std::int64_t rows = std::min(kChunk, far.size(0) - row);
    if (far.narrow(0, row, rows).any().item<bool>()) parts.push_back({row, rows});
  }
  const at::Tensor result = scores.detach(), q = query.detach(), k = key.detach();
  for (std::int64_t b = 0; b < result.size(0); ++b) {
    for (const Part& part : parts) {
      const at::Tensor rows = result[b].narrow(1, part.row, part.rows);
      const at::Tensor other = at::bmm(q[b].narrow(1, part.row, part.rows), k[b].transpose(1, 2));
      rows.copy_(at::where(far.narrow(0, part.row, part.rows), other, rows));
    }
  }
  return recorder.finish(result, [q, k, far, parts](const Gradients& gradients) -> Gradients {
    const at::Tensor slopes = gradients[0].contiguous();
    at::Tensor to_query = at::zeros(q.sizes(), q.options());
    at::Tensor to_key = at::zeros(k.sizes(), k.options());
    for (std::int64_t b = 0; b < slopes.size(0); ++b) {
      for (const Part& part : parts) {
        const at::Tensor mask = far.narrow(0, part.row, part.rows);
        const at::Tensor rows = slopes[b].narrow(1, part.row, part.rows);
        const at::Tensor other = rows * mask;
        to_query[b].narrow(1, part.row, part.rows).copy_(at::bmm(other, k[b]));
        to_key[b].add_(at::bmm(other.transpose(1, 2), q[b].narrow(1, part.row, part.rows)));
        rows.masked_fill_(mask, 0);
      }
    }
    return {slopes, to_query, to_key};
  });
}

class Rerope : public PositionScheme {
 public:
  explicit Rerope(const SchemeInputs& in) : settings_(in.settings.of<ReropeSettings>()) {}

  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    return RotationPair{.query = table(context, context.queries, width, 1, 0),
                        .key = table(context, context.keys, width, 1, 0)};
  }

  bool has_content_scores() const override { return true; }
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const std::int64_t width = terms.raw_query.size(-1);
    const at::ScalarType type = terms.scores.scalar_type();
    const at::Tensor past =
        (context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0))
            .to(context.device);
    const double rate = settings_.leak > 0 ? 1 / settings_.leak : 0;
    const double shift = static_cast<double>(settings_.window) * (1 - rate);
    const at::Tensor key =
        rotated(terms.raw_key.to(type), table(context, context.keys, width, rate, 0));
    at::Tensor scores = terms.scores;
    const auto replace = [&](const at::Tensor& far, double sign) {
      if (!far.any().item<bool>()) return;
      const at::Tensor query = rotated((terms.raw_query * terms.scale).to(type),
                                       table(context, context.queries, width, rate, sign * shift));
      scores = replace_scores(scores, query, key, far);
    };
    replace(past >= settings_.window, 1);
    if (!context.causal) replace(past <= -settings_.window, -1);
    return scores;
  }

  // A key's rotation depends on how far the query is.
  CachedKeys cached_keys() const override { return CachedKeys::unrotated; }

 private:
  ReropeSettings settings_;
  mutable RotaryTables tables_;

  Rotation table(const AttentionContext& context, const Positions& positions, std::int64_t width,
                 double stride, double shift) const {
    return tables_.get({.positions = positions,
                        .frequencies = rotary_frequencies(width, settings_.base),
                        .stride = stride,
                        .shift = shift,
                        .layout = settings_.layout,
                        .type = context.type,
                        .device = context.device});
  }
};

}  // namespace

double rerope_distance(double past, const ReropeSettings& settings) {
  const auto window = static_cast<double>(settings.window);
  const double distance = std::abs(past);
  if (distance < window) return past;
  const double beyond = settings.leak > 0 ? (distance - window) / settings.leak : 0;
  return std::copysign(window + beyond, past);
}

std::unique_ptr<PositionScheme> make_rerope(const SchemeInputs& inputs) {
  return std::make_unique<Rerope>(inputs);
}

}  // namespace roformer
