// Attention by tiles against the softmax as the formula says, in float64 with recorded gradients.
#include "tensor/tiled_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "attention_example.h"
#include "catch.h"
#include "distance.h"
#include "tensor/cpu/attention_products.h"
#include "tensor/cpu/attention_tile.h"

using namespace roformer;

TEST_CASE("attention by tiles is the softmax, with the gradients of rows and biases") {
  at::manual_seed(2);
  // In bf16 heads of a multiple of 32 have products of their own where the processor has AMX.
  AttentionExample example{.width = GENERATE(8, 32, 96), .causal = GENERATE(false, true)};
  switch (GENERATE(0, 1, 2, 3)) {
    case 1:
      example.add_biases();
      break;
    case 2:
      example.add_tables();
      break;
    case 3:
      example.add_windows();
      break;
  }
  const std::vector<at::Tensor> expected = example.plain().all();
  const auto check = [&](at::ScalarType type, double bound) {
    const std::vector<at::Tensor> found = example.tiled(type).all();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("result " << i << ", " << c10::toString(type));
      const double largest = expected[i].abs().max().item<double>();
      CHECK(distance(found[i].to(at::kDouble), expected[i]) < bound * largest);
    }
  };
  check(at::kDouble, 1e-13);
  check(at::kFloat, 1e-5);
  check(at::kBFloat16, 0.02);
}

TEST_CASE("attention by tiles gives the same numbers on any count of threads") {
  at::manual_seed(3);
  // MKL's products of few rows and long sums in fp32 depend on it by themselves, so narrow heads.
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  AttentionExample example{.width = type == at::kFloat ? 8 : 64, .causal = true};
  if (GENERATE(false, true)) {
    example.add_biases();
  } else {
    example.add_tables();
  }
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = example.tiled(type).all();
  at::set_num_threads(2);
  const std::vector<at::Tensor> two = example.tiled(type).all();
  at::set_num_threads(threads);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(at::equal(one[i], two[i]));
}

TEST_CASE("a bias of differences gives bitwise what it gives spread over all pairs") {
  at::manual_seed(4);
  AttentionExample tables{.width = GENERATE(8, 64), .causal = GENERATE(false, true)};
  tables.add_tables();
  AttentionExample pairs = tables;
  pairs.additive.clear();
  for (AttentionSegment& s : pairs.segments) {
    pairs.additive.push_back(
        AttentionExample::of_pairs(tables.additive[static_cast<std::size_t>(s.additive)], s));
    s.additive = static_cast<std::int64_t>(pairs.additive.size()) - 1;
  }
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const AttentionResults table = tables.tiled(type), pair = pairs.tiled(type);
    CHECK(at::equal(table.output, pair.output));
    CHECK(at::equal(table.query, pair.query));
    CHECK(at::equal(table.key, pair.key));
    CHECK(at::equal(table.value, pair.value));
    // The sums along the diagonals.
    std::vector<at::Tensor> sums;
    for (const at::Tensor& x : tables.additive) sums.push_back(at::zeros(x.sizes(), at::kDouble));
    for (std::size_t i = 0; i < pairs.segments.size(); ++i) {
      const at::Tensor sum = sums[static_cast<std::size_t>(tables.segments[i].additive)];
      const at::Tensor of_pair = pair.additive[i].to(at::kDouble);
      for (std::int64_t query = 0; query < of_pair.size(1); ++query) {
        sum.narrow(1, of_pair.size(1) - 1 - query, of_pair.size(2)).add_(of_pair.select(1, query));
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double largest = sums[i].abs().max().item<double>();
      CHECK(distance(table.additive[i].to(at::kDouble), sums[i]) < 1e-5 * largest);
    }
  }
}

// Where a processor multiplies no bfloat16.
TEST_CASE("products in float keep what is left of the gradient at a nearly certain key") {
  at::manual_seed(38);
  constexpr std::int64_t kTokens = 64, kWidth = 16;
  const double scale = 0.25;
  const auto rounded = [](const at::Tensor& x) { return x.to(at::kBFloat16).to(at::kDouble); };
  const auto drawn = [&] { return at::randn({kTokens, kWidth}, at::kDouble); };
  at::Tensor query = rounded(drawn() * 0.1 + 4), key = drawn() * 0.1, value = rounded(drawn());
  key[0].fill_(11 / (4 * std::sqrt(kWidth)));  // 11 above the other scores
  key = rounded(key);
  const at::Tensor outer = rounded(drawn());
  query.requires_grad_(true);
  key.requires_grad_(true);
  const at::Tensor scores = at::matmul(query, key.t()) * scale;
  (at::matmul(at::softmax(scores, 1), value) * outer).sum().backward();

  const auto stored = [](const at::Tensor& x) { return x.detach().to(at::kBFloat16); };
  const AttentionSegment all{.query_length = kTokens, .key_length = kTokens};
  const TiledAttention in{.query = stored(query),
                          .key = stored(key),
                          .value = stored(value),
                          .segments = {all},
                          .heads = 1,
                          .scale = scale};
  const at::Tensor output = at::empty_like(in.query), logarithm = at::empty({1, kTokens});
  const TiledAttentionGradients gradients{.query = at::empty_like(in.query),
                                          .key = at::empty_like(in.query),
                                          .value = at::empty_like(in.query)};
  AttentionTile<BlasProducts<c10::BFloat16, float>> tile(in, all, 0);
  tile.forward(output, logarithm);
  tile.backward(output, logarithm, stored(outer), gradients, {});
  const auto apart = [](const at::Tensor& found, const at::Tensor& wanted) {
    return ((found.to(at::kDouble) - wanted).norm() / wanted.norm()).item<double>();
  };
  CHECK(apart(gradients.query, query.grad()) < 0.03);
  CHECK(apart(gradients.key, key.grad()) < 0.03);
}
