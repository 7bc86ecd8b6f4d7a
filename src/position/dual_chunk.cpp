// Dual chunk attention (An 2024, arXiv:2402.17463): rotary positions restart in each chunk of the
// text. For keys of the previous chunk and for keys of all earlier chunks, queries use larger
// positions, so that no distance exceeds the chunk's size. For models trained with rope. Section
// 27.
#include <algorithm>
#include <vector>

#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// The position of query i for keys in the chunk that is `chunks` before the query's.
std::int64_t query_position(std::int64_t i, std::int64_t chunks,
                            const DualChunkSettings& settings) {
  const std::int64_t period = settings.chunk - settings.local;
  if (chunks == 0) return i % period;
  return std::min(chunks == 1 ? i % period + period : 2 * period - 1, settings.chunk);
}

class DualChunk : public PositionScheme {
 public:
  explicit DualChunk(const SchemeInputs& in)
      : settings_(resolved(in.settings.of<DualChunkSettings>(), in.shape.training_length)) {}

  SchemeCapabilities capabilities() const override { return {.scores = ContentScores::changed}; }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    return RotationPair{.query = table(context, context.queries, width, 0),
                        .key = table(context, context.keys, width, 0)};
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const std::int64_t period = settings_.chunk - settings_.local;
    const at::Tensor chunks = context.queries.tensor().floor_divide(period).unsqueeze(1) -
                              context.keys.tensor().floor_divide(period).unsqueeze(0);
    at::Tensor scores = terms.scores;
    const auto replace = [&](std::int64_t distance, const at::Tensor& far) {
      if (!far.any().item<bool>()) return;
      const at::Tensor query =
          rotated((terms.raw_query * terms.scale).to(scores.scalar_type()),
                  table(context, context.queries, terms.raw_query.size(-1), distance));
      scores = replace_scores(scores, query, terms.key.to(scores.scalar_type()), far);
    };
    replace(1, chunks == 1);
    replace(2, chunks >= 2);
    return scores;
  }

 private:
  DualChunkSettings settings_;
  mutable RotaryTables tables_;

  Rotation table(const AttentionContext& context, const Positions& positions, std::int64_t width,
                 std::int64_t chunks) const {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < positions.count(); ++i) {
      values.push_back(query_position(positions[i], chunks, settings_));
    }
    return tables_.at(context, Positions::of(std::move(values)),
                      {.frequencies = rotary_frequencies(width, settings_.base),
                       .factor = settings_.magnitude,
                       .layout = settings_.layout});
  }
};

}  // namespace

double dual_chunk_distance(std::int64_t i, std::int64_t j, const DualChunkSettings& settings) {
  if (j > i) return 0;
  const std::int64_t period = settings.chunk - settings.local;
  return static_cast<double>(query_position(i, i / period - j / period, settings) - j % period);
}

std::unique_ptr<PositionScheme> make_dual_chunk(const SchemeInputs& inputs) {
  return std::make_unique<DualChunk>(inputs);
}

}  // namespace roformer
