// In a stack of mixed schemes each layer's attention is bitwise that of the layer's scheme; what
// depends on the length is each sequence's own.
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "attention/self_attention.h"
#include "catch.h"
#include "config/schemes/formula.h"
#include "schemes.h"

using namespace roformer;

namespace {

// The output and the gradients of q, k, v of one layer.
std::vector<at::Tensor> of_one_layer(const SmallScheme& small, std::int64_t layer) {
  at::manual_seed(31);
  const TokenLayout layout = TokenLayout::of_lengths(std::vector<std::int64_t>{12, 12, 5});
  const at::Tensor projected = at::randn({layout.tokens, 3 * SmallScheme::kInner}, at::kFloat);
  const at::Tensor leaf = projected.set_requires_grad(true);
  const at::Tensor weights = at::randn({SmallScheme::kInner, SmallScheme::kWidth});
  const AttentionSettings attention;
  PositionSession session({.scheme = *small.scheme,
                           .attention = attention,
                           .queries = Positions::range(0, 12),
                           .keys = Positions::range(0, 12),
                           .causal = small.causal,
                           .training = true});
  const at::Tensor output =
      self_attention({.projected = leaf * 1,
                      .bias = at::zeros({3 * SmallScheme::kInner}),
                      .layout = layout,
                      .heads = SmallScheme::kHeads,
                      .layer = layer,
                      .projections = {.query_weight = weights, .key_weight = weights}},
                     session);
  (output * at::randn(output.sizes())).sum().backward();
  return {output.detach(), leaf.grad()};
}

}  // namespace

TEST_CASE("each layer of a mixed stack is bitwise its own scheme's") {
  const std::vector<std::string> names{"rope", "alibi", "kerple", "t5",     "shaw",
                                       "none", "xpos",  "cope",   "rerope", "deberta"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string lower = names[i], upper = names[(i + 1) % names.size()];
    const SmallScheme mixed("layers", true, at::kFloat, [&](PositionSettings& position) {
      position.of<LayersSettings>().schemes =
          parse_layer_map("{0: " + lower + ", 1: " + upper + "}");
    });
    for (const std::int64_t layer : {0, 1}) {
      const SmallScheme own(layer == 0 ? lower : upper, true, at::kFloat);
      INFO(lower << ", " << upper << ", layer " << layer);
      for (const Parameter& parameter : own.parameters.all()) {
        const Parameter* const same = mixed.parameters.find(parameter.spec.name);
        if (same != nullptr) parameter.value.detach().copy_(same->value);
      }
      const auto got = of_one_layer(mixed, layer), wanted = of_one_layer(own, layer);
      CHECK(at::equal(got[0], wanted[0]));
      CHECK(at::equal(got[1], wanted[1]));
    }
  }
}

TEST_CASE("a formula of the length knows each sequence's own and not the batch's") {
  at::manual_seed(9);
  const SmallScheme small("formula", false, at::kFloat, [](PositionSettings& position) {
    position.of<FormulaSettings>().bias = "-(h + 1) * abs(i - j) / length";
  });
  const AttentionSettings attention;
  const auto attended = [&](const at::Tensor& projected, const TokenLayout& layout) {
    PositionSession session({.scheme = *small.scheme,
                             .attention = attention,
                             .queries = Positions::range(0, layout.longest),
                             .keys = Positions::range(0, layout.longest)});
    return self_attention({.projected = projected.clone(),
                           .bias = at::zeros({3 * SmallScheme::kInner}),
                           .layout = layout,
                           .heads = SmallScheme::kHeads,
                           .layer = 1},
                          session);
  };
  const std::vector<std::int64_t> lengths{9, 4, 13};
  const TokenLayout layout = TokenLayout::of_lengths(lengths);
  const at::Tensor projected = at::randn({layout.tokens, 3 * SmallScheme::kInner});
  const at::Tensor together = attended(projected, layout);
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    const at::Tensor alone =
        attended(projected.narrow(0, begin, length), TokenLayout::uniform(1, length));
    CHECK((together.narrow(0, begin, length) - alone).abs().max().item<double>() < 1e-6);
    begin += length;
  }
}
