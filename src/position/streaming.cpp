// StreamingLLM (Xiao 2024, arXiv:2309.17453) and LM-Infinite (Han 2024, arXiv:2308.16137): a token
// sees the first few tokens of the text and the most recent ones. StreamingLLM counts the distance
// to the first tokens as if those between did not exist; LM-Infinite uses the window's size. For
// models trained with rope or alibi. Section 26.
#include <algorithm>
#include <vector>

#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Streaming : public PositionScheme {
 public:
  explicit Streaming(const SchemeInputs& in)
      : settings_(in.settings.of<StreamingSettings>()), slopes_(alibi_slopes(in.shape.heads)) {}

  SchemeCapabilities capabilities() const override {
    // The rotation of a key depends on its distance from the query.
    SchemeCapabilities capabilities{.cached_keys = CachedKeys::unrotated};
    if (settings_.form == StreamingForm::alibi)
      capabilities.bias = BiasDependence();
    else
      capabilities.scores = ContentScores::changed;
    return capabilities;
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    if (settings_.form == StreamingForm::alibi) return std::nullopt;
    return tables_.pair(context, angles(width));
  }

  at::Tensor bias(const AttentionContext& context) const override {
    if (settings_.form == StreamingForm::rope) return {};
    const auto options = at::TensorOptions().dtype(context.type).device(context.device);
    const at::Tensor past = past_of_pairs(context);
    const at::Tensor keys = context.keys.tensor().unsqueeze(0);
    const at::Tensor to_first = slot_of_last() - keys * (clipped() ? 0 : 1);
    const at::Tensor distance = at::where(evicted(context), to_first, past.clamp_min(0));
    return on_device(distance, options) *
           -on_device(at::tensor(slopes_, at::kDouble), options).view({1, -1, 1, 1});
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const at::Tensor far = evicted(context);
    if (!far.any().item<bool>()) return terms.scores;
    const std::int64_t width = terms.raw_query.size(-1);
    const at::ScalarType type = terms.scores.scalar_type();
    const auto standing_at = [&](std::int64_t position, std::int64_t count) {
      return tables_.at(
          context,
          Positions::of(std::vector<std::int64_t>(static_cast<std::size_t>(count), position)),
          angles(width));
    };
    const at::Tensor query = rotated((terms.raw_query * terms.scale).to(type),
                                     standing_at(slot_of_last(), context.queries.count()));
    const at::Tensor key = clipped() ? terms.raw_key.to(type) : terms.key.to(type);
    return replace_scores(terms.scores, query, key, far);
  }

  at::Tensor mask(const AttentionContext& context) const override {
    const at::Tensor query = context.queries.tensor().unsqueeze(1);
    const at::Tensor key = context.keys.tensor().unsqueeze(0);
    return (key > query - settings_.recent)
        .logical_or_(key < settings_.sinks)
        .logical_and_(key <= query);
  }

 private:
  StreamingSettings settings_;
  std::vector<double> slopes_;
  mutable RotaryTables tables_;

  bool clipped() const { return settings_.distance == StreamingDistance::clipped; }

  // The position that queries use for the first tokens: after all visible keys.
  std::int64_t slot_of_last() const {
    return clipped() ? settings_.recent : settings_.sinks + settings_.recent - 1;
  }

  // The pairs whose distance differs from i - j, whether they are visible or not.
  at::Tensor evicted(const AttentionContext& context) const {
    const at::Tensor far = past_of_pairs(context) >= settings_.recent;
    if (clipped()) return far;
    const at::Tensor queries = context.queries.tensor().unsqueeze(1);
    return far.logical_and(queries >= settings_.sinks + settings_.recent);
  }

  RotaryAngles angles(std::int64_t width) const {
    return {.frequencies = rotary_frequencies(width, settings_.base), .layout = settings_.layout};
  }
};

}  // namespace

bool streaming_sees(std::int64_t i, std::int64_t j, const StreamingSettings& settings) {
  return j <= i && (j < settings.sinks || i - j < settings.recent);
}

double streaming_distance(std::int64_t i, std::int64_t j, const StreamingSettings& settings) {
  if (!streaming_sees(i, j, settings)) return 0;
  if (settings.distance == StreamingDistance::clipped) {
    return static_cast<double>(std::min(i - j, settings.recent));
  }
  const bool near = i < settings.sinks + settings.recent || i - j < settings.recent;
  return static_cast<double>(near ? i - j : settings.sinks + settings.recent - 1 - j);
}

std::unique_ptr<PositionScheme> make_streaming(const SchemeInputs& inputs) {
  return std::make_unique<Streaming>(inputs);
}

}  // namespace roformer
