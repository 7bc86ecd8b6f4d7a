// Far scores by blocks of texts and queries, against all at once.
#include "position/replaced_scores.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <vector>

#include "catch.h"
#include "tensor/token_layout.h"

using namespace roformer;

namespace {

struct Sizes {
  std::int64_t texts = 5, heads = 2, length = 300, width = 4;
};

struct FarStep {
  at::Tensor result, to_scores, to_query, to_key;
};

template <class Replace>
FarStep step_of(const Replace& replace) {
  at::manual_seed(1);
  const auto leaf = [](std::vector<std::int64_t> sizes) {
    return at::randn(sizes, at::kDouble).requires_grad_();
  };
  const Sizes size;
  const at::Tensor scores = leaf({size.texts, size.heads, size.length, size.length});
  const at::Tensor query = leaf({size.texts, size.heads, size.length, size.width});
  const at::Tensor key = leaf({size.texts, size.heads, size.length, size.width});
  const at::Tensor result = replace(scores * 1, query, key);  // a leaf does not change in place
  (result * at::randn(result.sizes(), at::kDouble)).sum().backward();
  return {result.detach(), scores.grad(), query.grad(), key.grad()};
}

}  // namespace

TEST_CASE("far scores and their gradients are the same for every number of texts held together") {
  const at::Tensor places = at::arange(Sizes().length, at::kLong);
  // No far pair in the first 128 queries: their chunk is left out.
  const at::Tensor far = places.unsqueeze(1) - places.unsqueeze(0) >= 200;
  const FarStep wanted =
      step_of([&](const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key) {
        return at::where(far, at::matmul(query, key.transpose(2, 3)), scores);
      });
  const std::int64_t one_text = Sizes().heads * 128 * Sizes().length;
  for (const std::int64_t most :
       {std::int64_t{0}, one_text, 2 * one_text + 1, std::numeric_limits<std::int64_t>::max()}) {
    CAPTURE(most);
    const FarStep got =
        step_of([&](const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key) {
          return replace_scores(scores, query, key, far, most);
        });
    CHECK(got.result.equal(wanted.result));
    CHECK(got.to_scores.equal(wanted.to_scores));
    CHECK(got.to_query.allclose(wanted.to_query, 1e-12, 1e-12));
    CHECK(got.to_key.allclose(wanted.to_key, 1e-12, 1e-12));
  }
}

TEST_CASE("blocks hold every query of every text once, the last ones what is left") {
  const std::vector<TextBlock> blocks = text_blocks(5, 300, 128, 10, 2 * 1280 + 9);
  REQUIRE(blocks.size() == 9);
  at::Tensor seen = at::zeros({5, 1, 300}, at::kLong);
  for (const TextBlock& block : blocks) block.rows_of(seen).add_(1);
  CHECK(seen.equal(at::ones_like(seen)));
  CHECK(blocks.back().texts == 1);
  CHECK(blocks.back().rows == 44);
  CHECK(blocks.back().seen_of(seen).size(2) == 300);
  CHECK(text_blocks(5, 0, 128, 10, 100).empty());
}
