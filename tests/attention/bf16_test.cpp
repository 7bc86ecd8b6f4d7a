// Attention in bfloat16 against float64: outputs and all gradients of every scheme are within one
// bound, which is what the rounding of q, k, v, the probabilities and the slopes costs and no more.
#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attention/self_attention.h"
#include "catch.h"
#include "schemes.h"

using namespace roformer;

namespace {

struct Named {
  std::string name;
  at::Tensor value;
};

struct Case {
  at::Tensor projected;  // [T, 3 * inner], numbers that bfloat16 has
  at::Tensor input;      // [T, M], likewise
  at::Tensor bias, outer, query_weight, key_weight;
  TokenLayout layout;
};

// The output and the gradients of the projection, its bias and the scheme's parameters.
std::vector<Named> run(const Case& c, SmallScheme& small, at::ScalarType type) {
  const at::ScalarType stored = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor projected = c.projected.detach().clone().requires_grad_(true);
  const at::Tensor bias = c.bias.to(stored).detach().clone().requires_grad_(true);
  const AttentionSettings attention;
  PositionSession session({.scheme = *small.scheme,
                           .attention = attention,
                           .queries = Positions::range(0, c.layout.longest),
                           .keys = Positions::range(0, c.layout.longest),
                           .causal = small.causal,
                           .training = true,
                           .type = stored});
  const at::Tensor output =
      self_attention({.projected = projected.to(type, /*non_blocking=*/false, /*copy=*/true),
                      .bias = bias,
                      .layout = c.layout,
                      .heads = SmallScheme::kHeads,
                      .layer = 1,
                      .projections = {.query_weight = c.query_weight.to(stored),
                                      .key_weight = c.key_weight.to(stored)},
                      .input = c.input.to(type)},
                     session);
  (output.to(at::kDouble) * c.outer).sum().backward();
  std::vector<Named> result{{"output", output.detach()},
                            {"gradient of q, k, v", projected.grad()},
                            {"gradient of their bias", bias.grad()}};
  std::vector<at::Tensor> parameters;
  for (const Parameter& p : small.parameters.all()) {
    if (p.value.grad().defined()) parameters.push_back(p.value.grad().flatten());
  }
  if (!parameters.empty()) {
    result.push_back({"gradient of the scheme's parameters", at::cat(parameters)});
  }
  return result;
}

double magnitude(const at::Tensor& x) {
  return x.norm().item<double>();
}

}  // namespace

TEST_CASE("bfloat16 costs every scheme the same small share of outputs and gradients") {
  constexpr double kBound = 0.015;
  at::manual_seed(21);
  Case c;
  c.layout = TokenLayout::of_lengths(std::vector<std::int64_t>{41, 41, 17});
  const auto rounded = [](at::Tensor x) { return x.to(at::kBFloat16).to(at::kDouble); };
  c.projected = rounded(at::randn({c.layout.tokens, 3 * SmallScheme::kInner}, at::kDouble) * 1.5);
  c.bias = at::randn({3 * SmallScheme::kInner}, at::kDouble) * 0.1;
  c.outer = rounded(at::randn({c.layout.tokens, SmallScheme::kInner}, at::kDouble));
  c.query_weight = at::randn({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble) * 0.3;
  c.key_weight = at::randn({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble) * 0.3;
  c.input = rounded(at::randn({c.layout.tokens, SmallScheme::kWidth}, at::kDouble));
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      at::manual_seed(21);  // whatever other schemes there are
      SmallScheme narrow(name, causal, at::kFloat), wide(name, causal);
      for (std::size_t i = 0; i < wide.parameters.all().size(); ++i) {
        const at::Tensor values = wide.parameters.all()[i].value.detach();
        if (values.dim() > 1) values.copy_(at::randn(values.sizes()) * 0.3);
        narrow.parameters.all()[i].value.detach().copy_(values);
      }
      const std::vector<Named> got = run(c, narrow, at::kBFloat16),
                               wanted = run(c, wide, at::kDouble);
      REQUIRE(got.size() == wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        INFO(name << (narrow.causal ? ", causal, " : ", ") << got[i].name);
        CHECK(magnitude(got[i].value.to(at::kDouble) - wanted[i].value) /
                  magnitude(wanted[i].value) <
              kBound);
      }
    }
  }
}
