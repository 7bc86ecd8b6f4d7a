// Attention in bfloat16 against float64: outputs and all gradients of every scheme are within one
// bound, which is what the rounding of q, k, v, the probabilities and the slopes costs and no more.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attention/attend.h"
#include "attention/sdpa_attention.h"
#include "attention/self_attention.h"
#include "catch.h"
#include "config/schemes/formula.h"
#include "schemes.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"

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

double squares(const at::Tensor& x) {
  return x.square().sum().item<double>();
}

}  // namespace

TEST_CASE("bfloat16 costs every scheme the same small share of outputs and gradients") {
  constexpr double kBound = 0.015;
  constexpr int kDraws = 6;  // a draw whose gradient nearly cancels says little alone
  const auto rounded = [](at::Tensor x) { return x.to(at::kBFloat16).to(at::kDouble); };
  const auto draw = [&](int seed) {
    at::manual_seed(seed);
    Case c;
    c.layout = TokenLayout::of_lengths(std::vector<std::int64_t>{41, 41, 17});
    c.projected = rounded(at::randn({c.layout.tokens, 3 * SmallScheme::kInner}, at::kDouble) * 1.5);
    c.bias = at::randn({3 * SmallScheme::kInner}, at::kDouble) * 0.1;
    c.outer = rounded(at::randn({c.layout.tokens, SmallScheme::kInner}, at::kDouble));
    c.query_weight = at::randn({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble) * 0.3;
    c.key_weight = at::randn({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble) * 0.3;
    c.input = rounded(at::randn({c.layout.tokens, SmallScheme::kWidth}, at::kDouble));
    return c;
  };
  // `unavoidable`: what it costs in float64 to store q, k and v in bfloat16. DAPE's network has
  // kinks that such a change crosses.
  struct Squares {
    double difference = 0, unavoidable = 0, wanted = 0;
  };
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      std::map<std::string, Squares> sums;
      for (int seed = 0; seed < kDraws; ++seed) {
        const Case c = draw(seed);
        SmallScheme narrow(name, causal, at::kFloat), wide(name, causal);
        for (std::size_t i = 0; i < wide.parameters.all().size(); ++i) {
          const at::Tensor values = wide.parameters.all()[i].value.detach();
          if (values.dim() > 1) values.copy_(at::randn(values.sizes()) * 0.3);
          narrow.parameters.all()[i].value.detach().copy_(values);
        }
        const std::vector<Named> wanted = run(c, wide, at::kDouble),
                                 got = run(c, narrow, at::kBFloat16);
        SmallScheme exact(name, causal);
        for (std::size_t i = 0; i < wide.parameters.all().size(); ++i) {
          exact.parameters.all()[i].value.detach().copy_(wide.parameters.all()[i].value.detach());
        }
        Case stored = c;
        stored.projected = rounded(c.projected + c.bias);
        stored.bias = at::zeros_like(c.bias);
        const std::vector<Named> unavoidable = run(stored, exact, at::kDouble);
        REQUIRE(got.size() == wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          Squares& sum = sums[got[i].name];
          sum.difference += squares(got[i].value.to(at::kDouble) - wanted[i].value);
          sum.unavoidable += squares(unavoidable[i].value - wanted[i].value);
          sum.wanted += squares(wanted[i].value);
        }
      }
      for (const auto& [what, sum] : sums) {
        INFO(name << (causal ? ", causal, " : ", ") << what);
        CHECK(std::sqrt(sum.difference / sum.wanted) <
              std::max(kBound, 2 * std::sqrt(sum.unavoidable / sum.wanted)));
      }
    }
  }
}

TEST_CASE("a nearly certain key keeps what is left of its gradient in bfloat16") {
  at::manual_seed(37);
  constexpr std::int64_t kTokens = 64;
  const auto rounded = [](at::Tensor x) { return x.to(at::kBFloat16).to(at::kDouble); };
  Case c{.projected = rounded(at::randn({kTokens, 3 * SmallScheme::kInner}, at::kDouble) * 0.1),
         .input = at::zeros({kTokens, SmallScheme::kWidth}, at::kDouble),
         .bias = at::zeros({3 * SmallScheme::kInner}, at::kDouble),
         .outer = rounded(at::randn({kTokens, SmallScheme::kInner}, at::kDouble)),
         .query_weight = at::zeros({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble),
         .key_weight = at::zeros({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble),
         .layout = TokenLayout::uniform(1, kTokens)};
  // All queries are near 4 in each part and the first key is c, so that its score is above the
  // others' by 4 c sqrt(width): the rest has 63 exp(-that).
  const double width = static_cast<double>(SmallScheme::kInner) / SmallScheme::kHeads;
  c.projected.narrow(1, 0, SmallScheme::kInner).add_(4);
  c.projected.select(0, 0)
      .narrow(0, SmallScheme::kInner, SmallScheme::kInner)
      .fill_(11 / (4 * std::sqrt(width)));
  c.projected = rounded(c.projected);
  SmallScheme wide("none"), narrow("none", false, at::kFloat);
  const std::vector<Named> wanted = run(c, wide, at::kDouble), got = run(c, narrow, at::kBFloat16);
  for (const std::int64_t part : {0, 1}) {  // of the queries and of the keys
    const auto gradient = [&](const std::vector<Named>& of) {
      return of[1].value.to(at::kDouble).narrow(1, part * SmallScheme::kInner, SmallScheme::kInner);
    };
    CAPTURE(part);
    CHECK(std::sqrt(squares(gradient(got) - gradient(wanted)) / squares(gradient(wanted))) < 0.03);
  }
}

TEST_CASE("LibTorch's kernel keeps it, too, on a GPU where the exact gradient is wanted") {
  at::manual_seed(39);
  const auto rounded = [](const at::Tensor& x) { return x.to(at::kBFloat16).to(at::kDouble); };
  const auto drawn = [] { return at::randn({1, 2, 64, 16}, at::kDouble); };
  at::Tensor key = drawn() * 0.1;
  key.select(2, 0).fill_(11.0 / 16);  // above the other scores by 11
  const at::Tensor query = rounded(drawn() * 0.1 + 4), value = rounded(drawn());
  key = rounded(key);
  const at::Tensor outer = rounded(drawn());
  const auto gradients = [&](at::ScalarType type, bool exact = false) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& x : {query, key, value}) {
      leaves.push_back(x.to(type, false, /*copy=*/true).requires_grad_(true));
    }
    const at::Tensor output = sdpa_attention({.query = leaves[0],
                                              .key = leaves[1],
                                              .value = leaves[2],
                                              .scale = 0.25,
                                              .exact_gradient = exact});
    CHECK(output.scalar_type() == type);
    (output.to(at::kDouble) * outer).sum().backward();
    return leaves;
  };
  const std::vector<at::Tensor> wanted = gradients(at::kDouble);
  const auto apart = [&](const std::vector<at::Tensor>& got, std::size_t i) {
    return std::sqrt(squares(got[i].grad().to(at::kDouble) - wanted[i].grad()) /
                     squares(wanted[i].grad()));
  };
  take_attention_record();
  const std::vector<at::Tensor> by_loops = gradients(at::kBFloat16);
  CHECK(take_attention_record().gradient == "exact");
  const ComposedForms composed;  // as on a GPU
  const std::vector<at::Tensor> exact = gradients(at::kBFloat16, true);
  const AttentionRecord taken = take_attention_record();
  CHECK(taken.forward == std::vector<std::string>{"libtorch"});
  CHECK(taken.gradient == "exact");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(apart(by_loops, i) < 0.03);
    CHECK(apart(exact, i) < 0.03);
  }
  CHECK(apart(gradients(at::kBFloat16), 0) > 0.1);
  CHECK(take_attention_record().gradient == "fast");
}

TEST_CASE("a formula of scores costs in bfloat16 what other scores do") {
  at::manual_seed(35);
  const TokenLayout layout = TokenLayout::uniform(2, 33);
  const auto rounded = [](at::Tensor x) { return x.to(at::kBFloat16).to(at::kDouble); };
  Case c{.projected = rounded(at::randn({66, 3 * SmallScheme::kInner}, at::kDouble)),
         .input = at::zeros({66, SmallScheme::kWidth}, at::kDouble),
         .bias = at::zeros({3 * SmallScheme::kInner}, at::kDouble),
         .outer = rounded(at::randn({66, SmallScheme::kInner}, at::kDouble)),
         .query_weight = at::zeros({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble),
         .key_weight = at::zeros({SmallScheme::kInner, SmallScheme::kWidth}, at::kDouble),
         .layout = layout};
  for (const char* const score : {"score - 0.1 * abs(i - j)", "tanh(score)", "-0.1 * abs(i - j)",
                                  "where(i - j < 3, score, score - 1)"}) {
    CAPTURE(score);
    const auto of = [&](at::ScalarType stored) {
      return SmallScheme("formula", false, stored, [&](PositionSettings& position) {
        position.of<FormulaSettings>().score = score;
      });
    };
    SmallScheme wide = of(at::kDouble), narrow = of(at::kFloat);
    const std::vector<Named> wanted = run(c, wide, at::kDouble),
                             got = run(c, narrow, at::kBFloat16);
    for (std::size_t i = 0; i < 2; ++i) {  // the output and the gradient of q, k, v
      CAPTURE(wanted[i].name);
      CHECK(std::sqrt(squares(got[i].value.to(at::kDouble) - wanted[i].value) /
                      squares(wanted[i].value)) < 0.02);
    }
  }
}

TEST_CASE(
    "log-n factors scale the rows of a bfloat16 query as they are, not as bfloat16 has them") {
  at::manual_seed(36);
  constexpr std::int64_t kLength = 64, kWidth = 256;
  const SmallScheme small("none");
  const Positions positions = Positions::range(0, kLength);
  AttentionSettings attention;
  attention.log_n = LogNScaling::query_unclipped;
  attention.log_n_length = 8;
  const auto parts = [&] { return at::randn({1, 1, kLength, kWidth}).to(at::kBFloat16); };
  const at::Tensor query = parts(), key = parts(), value = parts();
  const auto scores = [&](at::ScalarType type) {
    return attend({.query = query.to(type),
                   .key = key.to(type),
                   .value = value.to(type),
                   .scheme = *small.scheme,
                   .attention = attention,
                   .context = {.queries = positions, .keys = positions, .type = type}},
                  /*with_scores=*/true)
        .scores.to(at::kDouble);
  };
  const at::Tensor wanted = scores(at::kDouble), got = scores(at::kBFloat16);
  // Row by row the best factor from one to the other; that of the first row is log 1.
  const at::Tensor factor =
      ((wanted * got).sum(-1) / wanted.square().sum(-1)).narrow(2, 1, kLength - 1);
  CHECK((factor - 1).abs().max().item<double>() < 1.5e-3);
}
