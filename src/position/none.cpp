// No positions (NoPE): only a causal mask distinguishes positions (section 14). Queries may grow
// with the position, as in Llama 4's layers without rotations (section 28).
#include <cmath>
#include <vector>

#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class None : public PositionScheme {
 public:
  explicit None(const SchemeInputs& in) : settings_(in.settings.of<NoneSettings>()) {}

  // A rotation by the angle 0, whose tables hold only factors.
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    if (settings_.attention_scale == 0) return std::nullopt;
    std::vector<double> factors;
    for (std::int64_t i = 0; i < context.queries.count(); ++i) {
      factors.push_back(query_temperature(context.queries[i], settings_));
    }
    const auto options = at::TensorOptions().dtype(context.type).device(context.device);
    const auto scaled = [&](const at::Tensor& by) {
      const at::Tensor cosine = by.expand({by.size(0), width / 2}).contiguous();
      return Rotation{.cosine = cosine, .sine = at::zeros(cosine.sizes(), options)};
    };
    return RotationPair{
        .query = scaled(on_device(at::tensor(factors, at::kDouble), options).unsqueeze(1)),
        .key = scaled(at::ones({context.keys.count(), 1}, options))};
  }

  double score_scale(std::int64_t head_width) const override {
    return settings_.scale == ScoreScale::none ? 1 : PositionScheme::score_scale(head_width);
  }

 private:
  NoneSettings settings_;
};

}  // namespace

double query_temperature(std::int64_t i, const NoneSettings& settings) {
  const auto multiples = static_cast<double>((i + 1) / settings.floor_scale);
  return 1 + settings.attention_scale * std::log(1 + multiples);
}

std::unique_ptr<PositionScheme> make_none(const SchemeInputs& inputs) {
  return std::make_unique<None>(inputs);
}

}  // namespace roformer
