// The loops of schemes whose scores depend on the content against LibTorch's operations, in rows
// longer than the parts that the loops go through.
#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "catch.h"
#include "distance.h"
#include "position/scheme_parts.h"
#include "tensor/dispatch.h"

using namespace roformer;

namespace {

constexpr std::int64_t kTexts = 2, kHeads = 3, kQueries = 7, kKeys = 330;

using Function = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// What a function gives, and the gradients of its inputs under outer weights.
std::vector<at::Tensor> with_gradients(const Function& function, std::vector<at::Tensor> inputs,
                                       at::ScalarType type) {
  std::vector<at::Tensor> leaves, given;
  for (const at::Tensor& x : inputs) {
    leaves.push_back(x.to(type).detach().clone().requires_grad_(true));
    given.push_back(leaves.back() * 1);  // not a leaf: it may be changed in place
  }
  std::vector<at::Tensor> results = function(given);
  at::manual_seed(5);
  at::Tensor sum = at::zeros({}, at::TensorOptions().dtype(type));
  for (const at::Tensor& x : results) sum = sum + (x * at::randn(x.sizes(), at::kDouble)).sum();
  sum.backward();
  for (at::Tensor& x : results) x = x.detach();
  for (const at::Tensor& x : leaves) results.push_back(x.grad());
  return results;
}

// The loops in double and in float against composed operations in double.
void check_loops(const Function& function, const std::vector<at::Tensor>& inputs,
                 double float_bound = 1e-5) {
  std::vector<at::Tensor> composed;
  {
    const ComposedForms forms;
    composed = with_gradients(function, inputs, at::kDouble);
  }
  const auto largest = [&](at::ScalarType type) {
    const std::vector<at::Tensor> looped = with_gradients(function, inputs, type);
    REQUIRE(looped.size() == composed.size());
    double worst = 0;
    for (std::size_t i = 0; i < looped.size(); ++i) {
      const double size = 1 + composed[i].abs().max().item<double>();
      worst = std::max(worst, distance(looped[i], composed[i]) / size);
    }
    return worst;
  };
  CHECK(largest(at::kDouble) < 1e-12);
  CHECK(largest(at::kFloat) < float_bound);
}

at::Tensor scores_of(double spread) {
  return at::randn({kTexts, kHeads, kQueries, kKeys}, at::kDouble) * spread;
}

std::vector<at::Tensor> masks() {
  const at::Tensor past = at::ones({kQueries, kKeys}, at::kBool).tril(kKeys - kQueries);
  const at::Tensor texts = past.logical_and(at::rand({kTexts, 1, kQueries, kKeys}) > 0.2);
  return {at::Tensor(), past, past.view({1, 1, kQueries, kKeys}), texts};
}

}  // namespace

TEST_CASE("loops that break sticks are LibTorch's operations, with gradients") {
  at::manual_seed(1);
  for (const at::Tensor& mask : masks()) {
    for (const double spread : {0.5, 8.0}) {
      check_loops(
          [&](const std::vector<at::Tensor>& x) {
            const AttentionWeights weights = stick_breaking_weights(x[0], mask);
            return std::vector<at::Tensor>{weights.weights, weights.remainder};
          },
          {scores_of(spread) - 3});
    }
  }
}

TEST_CASE("a hidden score may be any number where sticks are broken") {
  const at::Tensor past = at::ones({2, 2}, at::kBool).tril();
  for (const double hidden : {88.8, 800.0, 1e30}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const at::Tensor scores =
          at::tensor({0.0, hidden, 0.0, 0.0}, at::kDouble).to(type).view({1, 1, 2, 2});
      const AttentionWeights weights = stick_breaking_weights(scores, past);
      INFO(hidden);
      CHECK(distance(weights.weights, at::tensor({0.5, 0.0, 0.25, 0.5}).view({1, 1, 2, 2})) < 1e-6);
      CHECK(distance(weights.remainder, at::tensor({0.5, 0.25}).view({1, 1, 2})) < 1e-6);
    }
  }
}

TEST_CASE("loops that count positions by gates are LibTorch's operations, with gradients") {
  at::manual_seed(2);
  for (const at::Tensor& mask : masks()) {
    // Few positions, which the count passes, and more than it reaches.
    for (const std::int64_t positions : {std::int64_t{9}, kKeys + 1}) {
      check_loops(
          [&](const std::vector<at::Tensor>& x) {
            return std::vector<at::Tensor>{add_contextual_products(x[0], x[1], mask)};
          },
          {scores_of(1), at::randn({kTexts, kHeads, kQueries, positions}, at::kDouble)},
          3e-4);  // a count in float, times the step from one position to the next
    }
  }
}

TEST_CASE("loops of a network across heads are LibTorch's operations, with gradients") {
  at::manual_seed(3);
  const at::Tensor past = at::ones({kQueries, kKeys}, at::kBool).tril(kKeys - kQueries);
  for (const std::int64_t taps : {1, 3, 5}) {
    for (const bool biased : {false, true}) {
      const bool causal = taps == 1 && biased;
      const std::int64_t channels = biased ? 2 * kHeads : kHeads, hidden = 6;
      const auto random = [](std::vector<std::int64_t> sizes) {
        return at::randn(sizes, at::kDouble) * 0.4;
      };
      std::vector<at::Tensor> inputs{scores_of(1), random({taps, channels, hidden}),
                                     random({hidden}), random({taps, hidden, kHeads}),
                                     random({kHeads})};
      if (biased) inputs.push_back(random({kHeads, kQueries, kKeys}));
      INFO(taps << " taps, " << channels << " channels");
      check_loops(
          [&](const std::vector<at::Tensor>& x) {
            const at::Tensor result = with_score_network({.scores = x[0],
                                                          .bias = biased ? x[5] : at::Tensor(),
                                                          .past = taps > 1 ? past : at::Tensor(),
                                                          .causal = causal,
                                                          .network = {.first_weight = x[1],
                                                                      .first_bias = x[2],
                                                                      .second_weight = x[3],
                                                                      .second_bias = x[4],
                                                                      .slope = 0.01}});
            // What a causal mask hides may be any number.
            return std::vector<at::Tensor>{causal ? result * past.to(result.scalar_type())
                                                  : result};
          },
          inputs);
    }
  }
}
