// Linear attention in its efficient form against its definition, and FAVOR+ against the softmax.
#include <ATen/ATen.h>

#include <cmath>

#include "attention/linear_attention.h"
#include "attention/self_attention.h"
#include "catch.h"
#include "distance.h"

using namespace roformer;

namespace {

struct Rope {
  Rope() : parameters(1) {
    settings.scheme = "rope";
    scheme = make_scheme({.settings = settings,
                          .shape = {.layers = 1, .width = 16, .heads = 2, .head_width = 8},
                          .parameters = parameters});
  }
  PositionSettings settings;
  ParameterStore parameters;
  std::unique_ptr<PositionScheme> scheme;
};

}  // namespace

TEST_CASE("the chunks of causal linear attention give the sums over all earlier keys") {
  at::manual_seed(1);
  const Rope rope;
  for (const std::int64_t queries : {300, 7}) {  // all positions, or the last of them
    const AttentionContext context{.queries = Positions::range(300 - queries, queries),
                                   .keys = Positions::range(0, 300),
                                   .causal = true,
                                   .type = at::kDouble};
    at::Tensor q = at::randn({2, 2, queries, 8}, at::kDouble).set_requires_grad(true);
    at::Tensor k = at::randn({2, 2, 300, 8}, at::kDouble).set_requires_grad(true);
    at::Tensor v = at::randn({2, 2, 300, 8}, at::kDouble).set_requires_grad(true);
    const at::Tensor outer = at::randn({2, 2, queries, 8}, at::kDouble);
    const AttentionSettings attention{.kernel = AttentionKernel::elu};
    const auto gradients = [&](bool fast) {
      for (const at::Tensor& x : {q, k, v}) x.mutable_grad() = at::Tensor();
      const LinearFeatures f = linear_features({.query = q,
                                                .key = k,
                                                .scheme = *rope.scheme,
                                                .attention = attention,
                                                .context = context});
      at::Tensor output;
      if (fast) {
        output = linear_attention(f, v, true);
      } else {
        const auto seen = [&](const at::Tensor& scores) { return scores.tril(300 - queries); };
        const at::Tensor sums = seen(at::matmul(f.rotated_query, f.rotated_key.transpose(-2, -1)));
        const at::Tensor all = seen(at::matmul(f.query, f.key.transpose(-2, -1)));
        output = at::matmul(sums, v) / all.sum(-1, true);
      }
      (output * outer).sum().backward();
      return std::vector<at::Tensor>{output.detach(), q.grad().clone(), k.grad().clone(),
                                     v.grad().clone()};
    };
    const auto fast = gradients(true), plain = gradients(false);
    for (std::size_t i = 0; i < fast.size(); ++i) CHECK(distance(fast[i], plain[i]) < 1e-9);
  }
}

TEST_CASE("FAVOR+ comes near the softmax with many features") {
  at::manual_seed(2);
  PositionSettings settings;
  settings.scheme = "none";
  ParameterStore parameters(1);
  const auto none =
      make_scheme({.settings = settings, .shape = {.layers = 1}, .parameters = parameters});
  const at::Tensor q = at::randn({1, 1, 20, 8}, at::kDouble),
                   k = at::randn({1, 1, 20, 8}, at::kDouble);
  const at::Tensor v = at::randn({1, 1, 20, 8}, at::kDouble);
  const at::Tensor exact =
      at::matmul(at::softmax(at::matmul(q, k.transpose(-2, -1)) / std::sqrt(8.0), -1), v);
  const auto error = [&](std::int64_t features) {
    const LinearFeatures f =
        linear_features({.query = q,
                         .key = k,
                         .scheme = *none,
                         .attention = {.kernel = AttentionKernel::favor, .favor_epsilon = 0},
                         .context = {.queries = Positions::range(0, 20),
                                     .keys = Positions::range(0, 20),
                                     .type = at::kDouble},
                         .matrix = favor_matrix(features, 8, 3)});
    return (linear_attention(f, v, false) - exact).abs().mean().item<double>();
  };
  CHECK(error(8192) < 0.05);
  CHECK(error(8192) < error(16) / 2);
}

TEST_CASE("rows of a FAVOR+ matrix are orthogonal within a block") {
  const at::Tensor matrix = favor_matrix(20, 8, 1);
  const at::Tensor block = matrix.narrow(0, 8, 8);
  const at::Tensor products = at::matmul(block, block.t());
  CHECK((products - at::diag(products.diag())).abs().max().item<double>() < 1e-12);
  CHECK(favor_features({}, 64) == 266);
}

TEST_CASE("FAVOR+ redraws its matrix every so many steps of training, else never") {
  const AttentionSettings every{.kernel = AttentionKernel::favor, .redraw = 10};
  CHECK(favor_key(every, 1, 0) == favor_key(every, 1, 9));
  CHECK(favor_key(every, 1, 9) != favor_key(every, 1, 10));
  CHECK(favor_key(every, 1, 0) != favor_key(every, 2, 0));
  const AttentionSettings never{.kernel = AttentionKernel::favor, .redraw = 0};
  CHECK(favor_key(never, 1, 0) == favor_key(never, 1, 5000));
}
