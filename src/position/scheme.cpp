#include "position/scheme.h"

#include <cmath>

#include "base/error.h"
#include "position/relative_index.h"

namespace roformer {

double PositionScheme::score_scale(std::int64_t head_width) const {
  return 1.0 / std::sqrt(static_cast<double>(head_width));
}

at::Tensor PositionScheme::bias(const AttentionContext& context) const {
  const SchemeCapabilities own = capabilities();
  if (!own.bias || !own.bias->on_distance_alone) return {};
  return bias_of_distance(context.queries, context.keys,
                          [&](const at::Tensor& distances) { return bias_at(context, distances); });
}

at::Tensor key_positions(const AttentionContext& context) {
  const at::Tensor positions = context.drawn_positions.defined()
                                   ? context.drawn_positions
                                   : context.keys.tensor().to(at::kDouble).unsqueeze(0);
  ROFORMER_ASSERT(positions.size(1) == context.keys.count());
  return positions;
}

AttentionContext at_own_positions(const AttentionContext& context) {
  AttentionContext own = context;
  own.keys = context.queries;
  if (context.drawn_positions.defined()) own.drawn_positions = query_positions(context);
  return own;
}

at::Tensor query_positions(const AttentionContext& context) {
  const std::int64_t queries = context.queries.count();
  if (!context.drawn_positions.defined()) {
    return context.queries.tensor().to(at::kDouble).unsqueeze(0);
  }
  return key_positions(context).narrow(1, context.keys.count() - queries, queries);
}

std::string layer_parameter(std::int64_t layer, const std::string& name) {
  return "layers." + std::to_string(layer) + ".attention.position." + name;
}

}  // namespace roformer
