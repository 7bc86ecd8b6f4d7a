// TUPE (Ke 2021): the correlation of positions is a separate bias, computed by projections of a
// trained table that all layers share. [CLS], at position 0, is untied from positions. Section 6.

#include <cmath>

#include "base/error.h"
#include "config/schemes/tupe.h"
#include "position/relative_index.h"
#include "position/scheme.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Tupe : public PositionScheme {
 public:
  explicit Tupe(const SchemeInputs& in)
      : settings_(in.settings.of<TupeSettings>()), shape_(in.shape) {
    const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns) {
      return in.parameters.add({.name = name, .shape = {rows, columns}, .initial = normal(0.02)});
    };
    const auto vector = [&](const char* name, std::int64_t size, Initializer initial) {
      return in.parameters.add(
          {.name = name, .shape = {size}, .initial = std::move(initial), .decay = false});
    };
    const std::int64_t inner = shape_.heads * shape_.head_width;
    table_ = matrix("position.table", settings_.length, shape_.width);
    query_ = matrix("position.query.weight", inner, shape_.width);
    key_ = matrix("position.key.weight", inner, shape_.width);
    if (settings_.untie_cls) {
      from_cls_ = vector("position.from_cls", shape_.heads, normal(0.02));
      to_cls_ = vector("position.to_cls", shape_.heads, normal(0.02));
    }
    if (settings_.norm) {
      gain_ = vector("position.norm.weight", shape_.width, ones());
      shift_ = vector("position.norm.bias", shape_.width, zeros());
    }
    if (settings_.relative) {
      relative_ = in.parameters.add({.name = "position.bias",
                                     .shape = {settings_.buckets, shape_.heads},
                                     .initial = normal(1),
                                     .decay = false});
    }
  }

  SchemeCapabilities capabilities() const override { return {.bias = BiasDependence()}; }
  double score_scale(std::int64_t head_width) const override {
    return 1 / std::sqrt(2 * static_cast<double>(head_width));
  }

  at::Tensor bias(const AttentionContext& context) const override {
    const at::Tensor query = at::matmul(rows(context.queries), query_.t())
                                 .view({1, -1, shape_.heads, shape_.head_width})
                                 .transpose(1, 2);
    const ProjectedRows products = projected_rows(query, rows(context.keys), key_);
    at::Tensor bias = at::matmul(products.vectors, products.table.transpose(1, 2)) *
                      score_scale(shape_.head_width);
    if (settings_.relative) {
      const DistanceBuckets buckets{.buckets = settings_.buckets,
                                    .max_distance = settings_.max_distance,
                                    .bidirectional = !shape_.causal};
      bias =
          bias + expand_relative(relative_.t(),
                                 relative_index(context.queries, context.keys, [&](auto distance) {
                                   return t5_bucket(distance, buckets);
                                 }));
    }
    if (!settings_.untie_cls) return bias;
    const auto is_cls = [&](const Positions& positions) {
      return on_device(positions.tensor() == 0, bias.device());
    };
    const auto per_head = [](const at::Tensor& values) { return values.view({1, -1, 1, 1}); };
    bias = at::where(is_cls(context.keys).unsqueeze(0), per_head(to_cls_), bias);
    return at::where(is_cls(context.queries).unsqueeze(1), per_head(from_cls_), bias);
  }

 private:
  TupeSettings settings_;
  ModelShape shape_;
  at::Tensor table_;              // [length, M]
  at::Tensor query_, key_;        // [H * D, M]
  at::Tensor from_cls_, to_cls_;  // [H]: theta1, theta2
  at::Tensor gain_, shift_;       // [M]
  at::Tensor relative_;           // [buckets, H]

  at::Tensor rows(const Positions& positions) const {
    if (positions.largest() >= settings_.length) {
      throw_usage("position.tupe.length",
                  "the table has " + std::to_string(settings_.length) +
                      " positions, the text reaches position " +
                      std::to_string(positions.largest()),
                  "a longer table, or a shorter data.length");
    }
    const at::Tensor rows =
        at::index_select(table_, 0, on_device(positions.tensor(), table_.device()));
    if (!settings_.norm) return rows;
    return at::layer_norm(rows, {shape_.width}, gain_, shift_, settings_.norm_epsilon);  // [L, M]
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_tupe(const SchemeInputs& inputs) {
  return std::make_unique<Tupe>(inputs);
}

}  // namespace roformer
