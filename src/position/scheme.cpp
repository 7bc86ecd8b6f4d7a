#include "position/scheme.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "config/schemes/list.h"
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

#define ROFORMER_DECLARE_SCHEME(name) \
  std::unique_ptr<PositionScheme> make_##name(const SchemeInputs&);
ROFORMER_EACH_SCHEME(ROFORMER_DECLARE_SCHEME)
#undef ROFORMER_DECLARE_SCHEME

namespace {

std::map<std::string, SchemeFactory>& factories() {
#define ROFORMER_NAME_SCHEME(name) {#name, make_##name},
  static std::map<std::string, SchemeFactory> all = {ROFORMER_EACH_SCHEME(ROFORMER_NAME_SCHEME)};
#undef ROFORMER_NAME_SCHEME
  return all;
}

}  // namespace

void register_scheme(const std::string& name, SchemeFactory factory) {
  ROFORMER_ASSERT(factories().emplace(name, factory).second);
}

std::unique_ptr<PositionScheme> make_scheme(const SchemeInputs& inputs) {
  const auto found = factories().find(inputs.settings.scheme);
  ROFORMER_ASSERT(found != factories().end());
  return found->second(inputs);
}

}  // namespace roformer
