// Relative position representations (Shaw 2018): each layer has trained vectors of the clipped
// distance, which its heads share. Section 3.
#include "position/shaw.h"

#include <algorithm>
#include <cmath>

#include "config/schemes/shaw.h"
#include "position/relative_index.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Shaw : public RelativeVectors {
 public:
  explicit Shaw(const SchemeInputs& in)
      : RelativeVectors(in.settings.of<ShawSettings>().left, in.settings.of<ShawSettings>().right) {
    const ShawSettings& settings = in.settings.of<ShawSettings>();
    const double deviation = 1 / std::sqrt(static_cast<double>(in.shape.head_width));
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) {
      const auto table = [&](const char* name) {
        return add_layer_parameter(
            in, layer,
            {.name = name,
             .shape = {settings.left + settings.right + 1, in.shape.head_width},
             .initial = normal(deviation)});
      };
      tables_.push_back({.key = table("key")});
      if (settings.values) tables_.back().value = table("value");
    }
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_shaw(const SchemeInputs& inputs) {
  return std::make_unique<Shaw>(inputs);
}

namespace {

RelativeIndex clipped(const AttentionContext& context, std::int64_t left, std::int64_t right) {
  return relative_index(context.queries, context.keys, [=](std::int64_t distance) {
    return std::clamp(distance, -left, right) + left;
  });
}

}  // namespace

at::Tensor RelativeVectors::scores(const AttentionContext& context, const ScoreTerms& terms) const {
  const Tables& tables = tables_[static_cast<std::size_t>(context.layer)];
  return add_relative_products({.scores = terms.scores,
                                .vectors = terms.query * terms.scale,
                                .table = on_device(tables.key, context.device).unsqueeze(0),
                                .index = clipped(context, left_, right_)});
}

at::Tensor RelativeVectors::value_term(const AttentionContext& context,
                                       const at::Tensor& probabilities) const {
  const Tables& tables = tables_[static_cast<std::size_t>(context.layer)];
  return relative_sums(probabilities, on_device(tables.value, context.device).unsqueeze(0),
                       clipped(context, left_, right_));
}

RelativeForm RelativeVectors::relative_form(const AttentionContext& context) const {
  const Tables& tables = tables_[static_cast<std::size_t>(context.layer)];
  const RelativeIndex index = clipped(context, left_, right_);
  RelativeForm form{.terms = {{.table = tables.key.unsqueeze(0), .index = index}}};
  if (tables.value.defined()) {
    form.terms.push_back(
        {.table = tables.value.unsqueeze(0), .index = index, .use = RelativeUse::values});
  }
  return form;
}

}  // namespace roformer
