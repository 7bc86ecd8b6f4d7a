// Schemes of relative vectors and PaTH: attention by tiles against the same scheme with every score
// in memory, in texts longer than a tile's blocks, with the gradients of inputs and parameters.
#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "attention/self_attention.h"
#include "catch.h"
#include "config/schemes/transformer_xl.h"
#include "schemes.h"

using namespace roformer;

namespace {

struct RelativeCase {
  std::string name;
  std::function<void(PositionSettings&)> change = {};
};

const std::vector<RelativeCase>& relative_cases() {
  static const std::vector<RelativeCase> cases{
      {"shaw"},
      {"shaw, keys alone", [](auto& s) { s.template of<ShawSettings>().values = false; }},
      {"shaw, far", [](auto& s) { s.template of<ShawSettings>().left = 150; }},
      {"nezha"},
      {"path"},
      {"path, full", [](auto& s) { s.template of<PathSettings>().rank = 0; }},
      {"music_transformer",
       [](auto& s) { s.template of<MusicTransformerSettings>().length = 300; }},
      {"transformer_xl"},
      {"transformer_xl, untied",
       [](auto& s) { s.template of<TransformerXlSettings>().untie = true; }},
      {"deberta"},
      {"deberta, long, with biases",
       [](auto& s) {
         auto& deberta = s.template of<DebertaSettings>();
         deberta.span = 300;
         deberta.bias = true;
         deberta.index = DebertaIndex::code;
       }},
      {"deberta, buckets and shared projections",
       [](auto& s) {
         auto& deberta = s.template of<DebertaSettings>();
         deberta.buckets = 16;
         deberta.max_position = 90;
         deberta.share_projections = true;
         deberta.norm = true;
       }},
  };
  return cases;
}

struct RelativeExample {
  SmallScheme scheme;
  TokenLayout layout = TokenLayout::of_lengths(std::vector<std::int64_t>{200, 70, 70, 3});
  std::int64_t shared;  // heads of keys and values
  at::Tensor projected, bias, outer, query_weight, key_weight, input;

  RelativeExample(const RelativeCase& of, bool causal, std::int64_t shared_heads)
      : scheme(of.name.substr(0, of.name.find(',')), causal, at::kDouble, of.change),
        shared(shared_heads) {
    const std::int64_t width = (SmallScheme::kHeads + 2 * shared) * SmallScheme::kHeadWidth;
    const auto drawn = [](std::vector<std::int64_t> shape) {
      return at::randn(shape, at::kDouble).to(at::kBFloat16).to(at::kDouble);
    };
    projected = drawn({layout.tokens, width});
    bias = drawn({width});
    outer = drawn({layout.tokens, SmallScheme::kInner});
    query_weight = drawn({SmallScheme::kInner, SmallScheme::kWidth});
    input = drawn({layout.tokens, SmallScheme::kWidth});
    key_weight = drawn({SmallScheme::kInner, SmallScheme::kWidth});
  }

  // The output and all gradients. Log-n scaling by 1 has the scores made and changes nothing.
  std::vector<at::Tensor> run(at::ScalarType type, bool tiles) {
    const at::ScalarType stored = type == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor leaf = projected.clone().requires_grad_(true);
    const at::Tensor leaf_bias = bias.clone().requires_grad_(true);
    for (const Parameter& p : scheme.parameters.all()) p.value.mutable_grad() = at::Tensor();
    AttentionSettings attention;
    if (!tiles) {
      attention.log_n = LogNScaling::query;
      attention.log_n_length = 1000;
    }
    const Positions positions = Positions::range(0, layout.longest);
    PositionSession session({.scheme = *scheme.scheme,
                             .attention = attention,
                             .queries = positions,
                             .keys = positions,
                             .causal = scheme.causal,
                             .training = true,
                             .type = stored});
    const SelfAttentionInputs inputs{
        .projected = leaf.to(type, /*non_blocking=*/false, /*copy=*/true),
        .bias = leaf_bias.to(stored),
        .layout = layout,
        .heads = SmallScheme::kHeads,
        .key_value_heads = shared,
        .layer = 1,
        .projections = {.query_weight = query_weight, .key_weight = key_weight},
        .input = input};
    const bool attends = scheme.scheme->capabilities().attends;
    CHECK(attention_path(inputs, session) == (!tiles    ? AttentionPath::scores
                                              : attends ? AttentionPath::scheme
                                                        : AttentionPath::tiles));
    const at::Tensor output = self_attention(inputs, session);
    (output.to(at::kDouble) * outer).sum().backward();
    std::vector<at::Tensor> results{output.detach(), leaf.grad(), leaf_bias.grad()};
    for (const Parameter& p : scheme.parameters.all()) {
      if (p.value.grad().defined()) results.push_back(p.value.grad().clone());
    }
    return results;
  }
};

}  // namespace

TEST_CASE(
    "relative vectors and PaTH's products by tiles give what stored scores give, with gradients") {
  for (const RelativeCase& of : relative_cases()) {
    for (const bool causal : {false, true}) {
      at::manual_seed(21);
      RelativeExample example(of, causal, of.name == "shaw" ? 1 : SmallScheme::kHeads);
      INFO(of.name << (causal ? ", causal" : ""));
      const std::vector<at::Tensor> expected = example.run(at::kDouble, false);
      double largest = 0;
      for (const at::Tensor& x : expected) largest = std::max(largest, x.norm().item<double>());
      const auto check = [&](at::ScalarType type, double bound) {
        const std::vector<at::Tensor> found = example.run(type, true);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          INFO("result " << i << ", " << c10::toString(type));
          const at::Tensor apart = found[i].to(at::kDouble) - expected[i];
          // A bias that all keys share has no gradient: the rounding of others is left.
          const double size = std::max(0.1 * largest, expected[i].norm().item<double>());
          CHECK(apart.norm().item<double>() <= bound * size);
        }
      };
      check(at::kDouble, 1e-12);
      check(at::kFloat, 1e-5);
      check(at::kBFloat16, 0.02);
    }
  }
}
