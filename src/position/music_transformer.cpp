// Relative attention of the Music Transformer (Huang 2018): each head of each layer has a trained
// vector for every distance, without clipping. A product with the table replaces the paper's
// skewing. Section 3.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "config/schemes/music_transformer.h"
#include "position/relative_index.h"
#include "position/scheme.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

class MusicTransformer : public PositionScheme {
 public:
  explicit MusicTransformer(const SchemeInputs& in)
      : length_(in.settings.of<MusicTransformerSettings>().length), causal_(in.shape.causal) {
    // Causal: the last row is distance 0. Otherwise the middle row is.
    const std::int64_t rows = causal_ ? length_ : 2 * length_ - 1;
    tables_ = add_layer_parameters(
        in, {.name = "table",
             .shape = {in.shape.heads, rows, in.shape.head_width},
             .initial = normal(1 / std::sqrt(static_cast<double>(in.shape.head_width)))});
  }

  SchemeCapabilities capabilities() const override {
    return {.scores = ContentScores::changed, .relative_form = true};
  }
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    return add_relative_products({.scores = terms.scores,
                                  .vectors = terms.query * terms.scale,
                                  .table = tables_[static_cast<std::size_t>(context.layer)],
                                  .index = index_of(context)});
  }
  RelativeForm relative_form(const AttentionContext& context) const override {
    return {.terms = {{.table = tables_[static_cast<std::size_t>(context.layer)],
                       .index = index_of(context)}}};
  }

 private:
  std::int64_t length_;
  bool causal_;
  std::vector<at::Tensor> tables_;  // [H, rows, D]

  RelativeIndex index_of(const AttentionContext& context) const {
    const DistanceRange range = distance_range(context.queries, context.keys);
    const std::int64_t farthest =
        std::max(-range.least, causal_ ? 0 : range.least + range.count - 1);
    if (farthest >= length_) {
      throw_usage("position.music_transformer.length",
                  "the table has distances up to " + std::to_string(length_ - 1) +
                      ", the text has distances up to " + std::to_string(farthest),
                  "a longer table, or a shorter data.length");
    }
    // Future keys of a causal model are hidden, so any row will do for them.
    const std::int64_t greatest = causal_ ? 0 : length_ - 1;
    return relative_index(context.queries, context.keys, [&](std::int64_t distance) {
      return std::min(distance, greatest) + length_ - 1;
    });
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_music_transformer(const SchemeInputs& inputs) {
  return std::make_unique<MusicTransformer>(inputs);
}

}  // namespace roformer
