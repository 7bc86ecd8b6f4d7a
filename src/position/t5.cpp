// T5's bias (Raffel 2020): a trained number for each head and bucket of distances, shared by all
// layers. Section 5.

#include <cmath>

#include "config/schemes/t5.h"
#include "position/relative_index.h"
#include "position/scheme.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class T5 : public PositionScheme {
 public:
  explicit T5(const SchemeInputs& in)
      : scale_(in.settings.of<T5Settings>().scale),
        buckets_{.buckets = in.settings.of<T5Settings>().buckets,
                 .max_distance = in.settings.of<T5Settings>().max_distance,
                 .bidirectional = !in.shape.causal} {
    bias_ =
        in.parameters.add({.name = "position.bias",
                           .shape = {buckets_.buckets, in.shape.heads},
                           .initial = normal(1 / std::sqrt(static_cast<double>(in.shape.width))),
                           .decay = false});
  }

  SchemeCapabilities capabilities() const override {
    return {.bias = BiasDependence{.on_distance_alone = true}};
  }
  at::Tensor bias_at(const AttentionContext& context, const at::Tensor& distances) const override {
    const at::Tensor buckets = at::empty(distances.sizes(), at::kLong);
    const double* const distance = distances.const_data_ptr<double>();
    for (std::int64_t i = 0; i < distances.size(0); ++i) {
      buckets.mutable_data_ptr<std::int64_t>()[i] =
          t5_bucket(static_cast<std::int64_t>(distance[i]), buckets_);
    }
    return at::index_select(bias_.t(), 1, on_device(buckets, bias_.device()));
  }

  double score_scale(std::int64_t head_width) const override {
    return scale_ == ScoreScale::none ? 1 : PositionScheme::score_scale(head_width);
  }

 private:
  ScoreScale scale_;
  DistanceBuckets buckets_;
  at::Tensor bias_;  // [buckets, H]
};

}  // namespace

std::unique_ptr<PositionScheme> make_t5(const SchemeInputs& inputs) {
  return std::make_unique<T5>(inputs);
}

}  // namespace roformer
