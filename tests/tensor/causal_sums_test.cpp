// The sums of causal linear attention by chunks against those over all pairs, with gradients.
#include "tensor/linear_attention_operations.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "distance.h"

using namespace roformer;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 3, kFeatures = 7, kWidth = 5;

struct Results {
  at::Tensor products, denominators, query, key, value;

  std::vector<at::Tensor> all() const { return {products, denominators, query, key, value}; }
};

// Heads side by side in the memory of a token, as projections leave them.
struct Example {
  std::int64_t length;
  at::Tensor query = at::randn({kBatch, length, kHeads* kFeatures}, at::kDouble);
  at::Tensor key = at::randn({kBatch, length, kHeads* kFeatures}, at::kDouble);
  at::Tensor value = at::randn({kBatch, length, kHeads* kWidth}, at::kDouble);
  at::Tensor products_gradient = at::randn({kBatch, kHeads, length, kWidth}, at::kDouble);
  at::Tensor denominators_gradient = at::randn({kBatch, kHeads, length, 1}, at::kDouble);

  template <typename Products, typename Denominators>
  Results run(at::ScalarType type, const Products& products,
              const Denominators& denominators) const {
    const auto leaf = [&](const at::Tensor& x) {
      return x.to(type).detach().clone().requires_grad_();
    };
    const at::Tensor q = leaf(query), k = leaf(key), v = leaf(value);
    const auto heads = [&](const at::Tensor& x) {
      return x.view({kBatch, length, kHeads, x.size(2) / kHeads}).transpose(1, 2);
    };
    const at::Tensor sums = products(heads(q), heads(k), heads(v));
    const at::Tensor totals = denominators(heads(q), heads(k));
    ((sums * products_gradient.to(type)).sum() + (totals * denominators_gradient.to(type)).sum())
        .backward();
    return {sums.detach(), totals.detach(), q.grad(), k.grad(), v.grad()};
  }
  Results plain() const {
    const auto weights = [](const at::Tensor& q, const at::Tensor& k) {
      return at::matmul(q, k.transpose(2, 3)).tril();
    };
    return run(
        at::kDouble,
        [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
          return at::matmul(weights(q, k), v);
        },
        [&](const at::Tensor& q, const at::Tensor& k) { return weights(q, k).sum(-1, true); });
  }
  Results chunked(at::ScalarType type) const {
    return run(type, causal_products, causal_denominators);
  }
};

void compare(const Results& found, const Results& expected, double bound) {
  for (std::size_t i = 0; i < expected.all().size(); ++i) {
    INFO("result " << i);
    const at::Tensor wanted = expected.all()[i], got = found.all()[i].to(at::kDouble);
    REQUIRE(got.sizes() == wanted.sizes());
    CHECK(distance(got, wanted) < bound * wanted.abs().max().item<double>());
  }
}

}  // namespace

TEST_CASE("causal sums by chunks are those over all pairs, with their gradients") {
  at::manual_seed(7);
  const Example example{.length = GENERATE(1, 2, 31, 32, 33, 64, 205)};
  INFO("length " << example.length);
  const Results expected = example.plain();
  compare(example.chunked(at::kDouble), expected, 1e-13);
  compare(example.chunked(at::kFloat), expected, 1e-5);
}
