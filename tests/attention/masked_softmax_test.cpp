// The softmax of the loops against LibTorch's, for biases and masks of every shape that can be
// broadcast, with gradients.
#include "attention/explicit_scores.h"

#include <ATen/ATen.h>

#include <vector>

#include "catch.h"
#include "distance.h"
#include "tensor/dispatch.h"

using namespace roformer;

namespace {

constexpr std::int64_t kSequences = 2, kParts = 3, kRows = 5, kColumns = 300;

struct Softmaxed {
  at::Tensor probabilities, to_scores, to_bias;
};

Softmaxed softmaxed(const at::Tensor& scores, const at::Tensor& bias, const at::Tensor& mask,
                    at::ScalarType type) {
  const at::Tensor leaf = scores.to(type).detach().clone().requires_grad_(true);
  at::Tensor own = bias;
  if (own.defined()) own = own.to(type).detach().clone().requires_grad_(true);
  const at::Tensor result = masked_softmax({.scores = leaf * 1, .bias = own, .mask = mask});
  at::manual_seed(3);
  (result * at::randn(result.sizes(), at::kDouble).to(type)).sum().backward();
  return {result.detach(), leaf.grad(), own.defined() ? own.grad() : at::zeros({1})};
}

double largest_distance_of(const Softmaxed& a, const Softmaxed& b) {
  return std::max({distance(a.probabilities, b.probabilities), distance(a.to_scores, b.to_scores),
                   distance(a.to_bias, b.to_bias)});
}

}  // namespace

TEST_CASE("the softmax of the loops is LibTorch's, with gradients") {
  at::manual_seed(1);
  const auto random = [](std::vector<std::int64_t> sizes) { return at::randn(sizes, at::kDouble); };
  at::Tensor past = at::ones({kRows, kColumns}, at::kBool).tril(200);
  past[1].fill_(false);  // a row that sees nothing
  const std::vector<at::Tensor> masks{
      at::Tensor(), past, past.view({1, 1, kRows, kColumns}),
      past.logical_and(at::rand({kSequences, 1, 1, kColumns}) > 0.3),
      past.logical_and(at::rand({1, kParts, kRows, kColumns}) > 0.3)};
  const std::vector<at::Tensor> biases{
      at::Tensor(), random({1, 1, kRows, kColumns}), random({1, kParts, kRows, kColumns}),
      random({kSequences, 1, kRows, kColumns}), random({kSequences, kParts, 1, kColumns})};
  const at::Tensor scores = random({kSequences, kParts, kRows, kColumns}) * 5;
  for (const at::Tensor& mask : masks) {
    for (const at::Tensor& bias : biases) {
      const auto composed = [&] {
        const ComposedForms forms;
        return softmaxed(scores, bias, mask, at::kDouble);
      }();
      CHECK(largest_distance_of(softmaxed(scores, bias, mask, at::kDouble), composed) < 1e-13);
      CHECK(largest_distance_of(softmaxed(scores, bias, mask, at::kFloat), composed) < 1e-5);
    }
  }
}
