// Disentangled attention (DeBERTa, He 2021): the score multiplies the query's content by a
// projected vector of the distance (c2p), and the key's content by another (p2c). Section 7.

#include <algorithm>
#include <cmath>

#include "config/schemes/deberta.h"
#include "position/relative_index.h"
#include "position/scheme.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

class Deberta : public PositionScheme {
 public:
  explicit Deberta(const SchemeInputs& in)
      : settings_(in.settings.of<DebertaSettings>()),
        shape_(in.shape),
        span_(settings_.buckets > 0 ? settings_.buckets : settings_.span) {
    table_ = in.parameters.add(
        {.name = "position.table", .shape = {2 * span_, shape_.width}, .initial = normal(0.02)});
    if (settings_.norm) {
      gain_ = in.parameters.add({.name = "position.norm.weight",
                                 .shape = {shape_.width},
                                 .initial = ones(),
                                 .decay = false});
      shift_ = in.parameters.add({.name = "position.norm.bias",
                                  .shape = {shape_.width},
                                  .initial = zeros(),
                                  .decay = false});
    }
    if (settings_.share_projections) return;
    for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
      const std::int64_t inner = shape_.heads * shape_.head_width;
      const auto weight = [&](bool wanted, const char* name) {
        if (!wanted) return at::Tensor();
        return add_layer_parameter(
            in, layer, {.name = name, .shape = {inner, shape_.width}, .initial = normal(0.02)});
      };
      const auto bias = [&](bool wanted, const char* name) {
        if (!wanted || !settings_.bias) return at::Tensor();
        return add_layer_parameter(
            in, layer, {.name = name, .shape = {inner}, .initial = zeros(), .decay = false});
      };
      const bool query = settings_.position_to_content, key = settings_.content_to_position;
      projections_.push_back({.query_weight = weight(query, "query.weight"),
                              .key_weight = weight(key, "key.weight"),
                              .query_bias = bias(query, "query.bias"),
                              .key_bias = bias(key, "key.bias")});
    }
  }

  SchemeCapabilities capabilities() const override {
    return {.scores = ContentScores::changed, .relative_form = true};
  }
  double score_scale(std::int64_t head_width) const override {
    const int terms = 1 + settings_.content_to_position + settings_.position_to_content;
    return 1 / std::sqrt(static_cast<double>(terms * head_width));
  }

  std::vector<at::Tensor> shared_parameters() const override {
    return settings_.norm ? std::vector<at::Tensor>{table_, gain_, shift_}
                          : std::vector<at::Tensor>{table_};
  }
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    at::Tensor scores = terms.scores;
    for (const Part& part : parts(context)) {
      const bool of_keys = part.use == RelativeUse::key_scores;
      const ProjectedRows products =
          projected_rows((of_keys ? terms.key : terms.query) * terms.scale, part.rows, part.weight);
      scores = add_relative_products({.scores = scores,
                                      .vectors = products.vectors,
                                      .table = products.table,
                                      .index = part.index,
                                      .side = of_keys ? RelativeSide::key : RelativeSide::query});
    }
    return scores;
  }
  RelativeForm relative_form(const AttentionContext& context) const override {
    RelativeForm form;
    for (const Part& part : parts(context)) {
      form.terms.push_back({.table = projected_table(part.rows, part.weight, shape_.heads),
                            .index = part.index,
                            .use = part.use});
    }
    return form;
  }

 private:
  DebertaSettings settings_;
  ModelShape shape_;
  std::int64_t span_;        // k
  at::Tensor table_;         // [2k, M]
  at::Tensor gain_, shift_;  // [M]
  std::vector<LayerProjections> projections_;

  std::int64_t delta(std::int64_t past) const { return deberta_row(past, settings_); }

  // One of the two terms: vectors of queries or keys times projected rows of distances.
  struct Part {
    RelativeUse use;
    at::Tensor rows;    // [R, M] or, with a bias, [R, M + 1]
    at::Tensor weight;  // [H * D, M] or [H * D, M + 1]
    RelativeIndex index;
  };

  std::vector<Part> parts(const AttentionContext& context) const {
    const LayerProjections& weights = settings_.share_projections
                                          ? context.projections
                                          : projections_[static_cast<std::size_t>(context.layer)];
    std::vector<Part> result;
    const auto add = [&](RelativeUse use, at::Tensor weight, const at::Tensor& bias, int sign) {
      // delta is a monotonic function of the distance, so only the rows within reach are projected.
      const DistanceRange range = distance_range(context.queries, context.keys);
      const std::int64_t first = delta(sign * range.least);
      const std::int64_t last = delta(sign * (range.least + range.count - 1));
      const std::int64_t begin = std::min(first, last);
      at::Tensor table = rows(context, begin, std::max(first, last) - begin + 1);
      if (settings_.bias && bias.defined()) {
        // W r + b is [W b] [r 1].
        weight = at::cat({weight, bias.unsqueeze(1)}, 1);
        table = at::cat({table, at::ones({table.size(0), 1}, table.options())}, 1);
      }
      result.push_back(
          {.use = use,
           .rows = table,
           .weight = weight,
           .index = relative_index(context.queries, context.keys, [&](std::int64_t distance) {
             return delta(sign * distance) - begin;
           })});
    };
    if (settings_.content_to_position) {
      add(RelativeUse::query_scores, weights.key_weight, weights.key_bias, -1);
    }
    if (settings_.position_to_content) {
      add(RelativeUse::key_scores, weights.query_weight, weights.query_bias,
          settings_.index == DebertaIndex::paper ? 1 : -1);
    }
    return result;
  }

  at::Tensor rows(const AttentionContext& context, std::int64_t begin, std::int64_t count) const {
    const at::Tensor rows = shared_parameter(context, 0, table_).narrow(0, begin, count);
    if (!settings_.norm) return rows;
    return at::layer_norm(rows, {shape_.width}, shared_parameter(context, 1, gain_),
                          shared_parameter(context, 2, shift_), settings_.norm_epsilon);
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_deberta(const SchemeInputs& inputs) {
  return std::make_unique<Deberta>(inputs);
}

}  // namespace roformer
