// A scheme from one file: defined here, registered by name, trained.
#include <ATen/ATen.h>

#include "attention/self_attention.h"
#include "catch.h"
#include "position/registry.h"

using namespace roformer;

namespace {

// Each head prefers one trained distance less or more strongly.
class Previous : public PositionScheme {
 public:
  explicit Previous(const SchemeInputs& in) {
    strength_ = in.parameters.add({.name = "position.strength",
                                   .shape = {in.shape.heads},
                                   .initial = zeros(),
                                   .decay = false});
  }
  bool has_bias() const override { return true; }
  at::Tensor bias(const AttentionContext& context) const override {
    const at::Tensor past =
        context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0);
    return strength_.view({1, -1, 1, 1}) * (past == 1).to(context.type);
  }

 private:
  at::Tensor strength_;
};

}  // namespace

TEST_CASE("a scheme in one file can be registered and trained") {
  register_scheme("previous", [](const SchemeInputs& in) -> std::unique_ptr<PositionScheme> {
    return std::make_unique<Previous>(in);
  });
  PositionSettings settings;
  settings.scheme = "previous";
  ParameterStore parameters(1);
  const auto scheme = make_scheme({.settings = settings,
                                   .shape = {.layers = 1, .width = 8, .heads = 2, .head_width = 4},
                                   .parameters = parameters});
  // The wanted output is the value of the previous position.
  at::manual_seed(1);
  const TokenLayout layout = TokenLayout::uniform(4, 10);
  const at::Tensor values = at::randn({40, 8});
  const at::Tensor bias = at::zeros({24});
  const AttentionSettings attention;
  const auto loss = [&] {
    PositionSession session({.scheme = *scheme,
                             .attention = attention,
                             .queries = Positions::range(0, 10),
                             .keys = Positions::range(0, 10)});
    const at::Tensor packed = at::cat({at::zeros({40, 16}), values}, 1);
    const at::Tensor output =
        self_attention({.projected = packed, .bias = bias, .layout = layout, .heads = 2}, session);
    const auto rows = [](const at::Tensor& x) { return x.view({4, 10, 8}); };
    return (rows(output).narrow(1, 1, 9) - rows(values).narrow(1, 0, 9)).square().mean();
  };
  const at::Tensor strength = parameters.find("position.strength")->value;
  const double before = loss().item<double>();
  for (int step = 0; step < 100; ++step) {
    strength.mutable_grad() = at::Tensor();
    loss().backward();
    strength.detach().sub_(strength.grad(), 2.0);
  }
  CHECK(loss().item<double>() < before / 2);
  CHECK(strength.min().item<double>() > 1);
}
