#include "attention/sdpa_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "attention/attend.h"
#include "attention/position_session.h"
#include "catch.h"
#include "schemes.h"
#include "tensor/tiled_attention.h"

using namespace roformer;

TEST_CASE("attention by rows with running sums is the explicit softmax, with gradients") {
  // Two blocks of rows, and sums so large that float32 knows no difference of neighbours.
  constexpr std::int64_t kLength = 150;
  at::manual_seed(31);
  const Positions positions = Positions::range(0, kLength);
  const SmallScheme small("fox");
  bool hides_by_mask = true;  // else the past alone
  const auto difference = [&](at::ScalarType type, double offset) {
    const auto leaf = [&](at::Tensor x) { return x.to(type).detach().set_requires_grad(true); };
    const auto random = [&] {
      return leaf(at::randn({2, SmallScheme::kHeads, kLength, SmallScheme::kHeadWidth}));
    };
    const at::Tensor q = random(), k = random(), v = random();
    const at::Tensor sums =
        (offset - at::rand({2, SmallScheme::kHeads, kLength}, at::kDouble).cumsum(2))
            .set_requires_grad(true);
    const at::Tensor outer = at::randn(q.sizes()).to(type);
    const at::Tensor mask = hides_by_mask ? window_mask(positions, positions, 140, /*causal=*/true)
                                          : causal_mask(positions, positions);
    const auto gradients = [&](const at::Tensor& output) {
      for (const at::Tensor& x : {q, k, v, sums}) x.mutable_grad() = at::Tensor();
      (output * outer).sum().backward();
      return std::vector<at::Tensor>{output.detach(), q.grad(), k.grad(), v.grad(), sums.grad()};
    };
    const std::vector<at::Tensor> rows =
        gradients(running_sum_attention({.query = q,
                                         .key = k,
                                         .value = v,
                                         .sums = sums,
                                         .mask = hides_by_mask ? mask : at::Tensor(),
                                         .scale = 0.5}));
    const std::vector<at::Tensor> plain =
        gradients(attend({.query = q,
                          .key = k,
                          .value = v,
                          .scheme = *small.scheme,
                          .attention = {},
                          .context = {.queries = positions,
                                      .keys = positions,
                                      .causal = true,
                                      .mask = mask,
                                      .type = type,
                                      .token_inputs = sums.unsqueeze(-1)}})
                      .output);
    double worst = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const at::Tensor a = rows[i].to(at::kDouble), b = plain[i].to(at::kDouble);
      worst = std::max(worst, ((a - b).norm() / b.norm()).item<double>());
    }
    return worst;
  };
  CHECK(difference(at::kDouble, 0) < 1e-12);
  CHECK(difference(at::kFloat, 0) < 1e-5);
  CHECK(difference(at::kFloat, -1e6) < 1e-5);
  CHECK(difference(at::kBFloat16, 0) < 0.01);
  hides_by_mask = false;
  CHECK(difference(at::kDouble, 0) < 1e-12);
  CHECK(difference(at::kFloat, 0) < 1e-5);
  CHECK(difference(at::kBFloat16, 0) < 0.01);
}

TEST_CASE("attention by tiles with running sums is that by rows, with gradients") {
  constexpr std::int64_t kTexts = 2, kHeads = 3, kLength = 300, kWidth = 32;
  at::manual_seed(32);
  const auto difference = [&](at::ScalarType type, double offset) {
    const auto random = [&] {
      return at::randn({kTexts, kHeads, kLength, kWidth}).to(type).to(at::kDouble);
    };
    std::vector<at::Tensor> leaves{random(), random(), random()};
    leaves.push_back(offset - at::rand({kTexts, kHeads, kLength}, at::kDouble).cumsum(2));
    const at::Tensor outer = random();
    for (at::Tensor& x : leaves) x.set_requires_grad(true);
    const at::Tensor rows = running_sum_attention({.query = leaves[0],
                                                   .key = leaves[1],
                                                   .value = leaves[2],
                                                   .sums = leaves[3],
                                                   .scale = 0.5});
    (rows * outer).sum().backward();

    const auto packed = [&](const at::Tensor& x) {  // [T, H * D]
      return x.detach().transpose(1, 2).reshape({kTexts * kLength, -1}).to(type);
    };
    const auto by_head = [&](const at::Tensor& x) {  // [H, T]
      return x.detach().transpose(0, 1).flatten(1).contiguous();
    };
    TiledAttention in{.query = packed(leaves[0]),
                      .key = packed(leaves[1]),
                      .value = packed(leaves[2]),
                      .sums = by_head(leaves[3]),
                      .heads = kHeads,
                      .scale = 0.5,
                      .causal = true};
    for (std::int64_t text = 0; text < kTexts; ++text) {
      in.segments.push_back({.query_begin = text * kLength,
                             .query_length = kLength,
                             .key_begin = text * kLength,
                             .key_length = kLength});
    }
    if (!can_tile_attention(in.query, kWidth)) return 0.0;
    const at::Tensor output = at::empty_like(in.query);
    const at::Tensor logarithm = tiled_attention_forward(in, output);
    const TiledAttentionGradients found{.query = at::empty_like(in.query),
                                        .key = at::empty_like(in.query),
                                        .value = at::empty_like(in.query),
                                        .sums = at::empty_like(in.sums)};
    tiled_attention_backward(in, output, logarithm, packed(outer), found);
    double worst = 0;
    const auto compare = [&](const at::Tensor& a, const at::Tensor& b) {
      const at::Tensor wide = b.to(at::kDouble);
      worst = std::max(worst, ((a.to(at::kDouble) - wide).norm() / wide.norm()).item<double>());
    };
    compare(output, packed(rows));
    compare(found.query, packed(leaves[0].grad()));
    compare(found.key, packed(leaves[1].grad()));
    compare(found.value, packed(leaves[2].grad()));
    compare(found.sums, by_head(leaves[3].grad()));
    return worst;
  };
  CHECK(difference(at::kDouble, 0) < 1e-12);
  CHECK(difference(at::kFloat, 0) < 1e-5);
  CHECK(difference(at::kFloat, -1e6) < 1e-5);
  CHECK(difference(at::kBFloat16, 0) < 0.01);
}
