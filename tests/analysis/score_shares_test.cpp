// The estimated shares against those in closed form, for every scheme whose score is a sum of terms
// of contents and positions and for those that rotate, and sums for all the others.
#include "analysis/score_shares.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <cmath>

#include "analysis/exact_shares.h"
#include "attention/position_session.h"
#include "attention/schemes.h"
#include "catch.h"

using namespace roformer;

namespace {

constexpr std::int64_t kLength = 12, kGroup = 16;
const AttentionSettings kAttention;

at::Tensor normals(std::vector<std::int64_t> shape, std::uint64_t key) {
  const at::Tensor result = at::empty(shape, at::kDouble);
  Random random(random_key({key}));
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.mutable_data_ptr<double>()[i] = random.normal();
  }
  return result;
}

// N vectors of each head whose mean is 0 and whose covariance is the identity, so that a few
// hundred do for many: [N, H, D].
at::Tensor contents(std::int64_t count, std::uint64_t key) {
  const at::Tensor x = normals({SmallScheme::kHeads, count, SmallScheme::kHeadWidth}, key);
  const at::Tensor centred = x - x.mean(1, true);
  const at::Tensor covariance =
      at::matmul(centred.transpose(1, 2), centred) / static_cast<double>(count - 1);
  const at::Tensor root = at::linalg_cholesky(covariance);
  return at::linalg_solve_triangular(root, centred.transpose(1, 2), /*upper=*/false)
      .permute({2, 0, 1})
      .contiguous();
}

// Contents of standard normal features, and the small scheme's second layer.
struct Case {
  SmallScheme small;
  ScoreInputs inputs;

  Case(const std::string& name, bool causal, std::int64_t groups)
      : small(name, causal),
        inputs{.scheme = small.scheme->of_layer(1),
               .attention = kAttention,
               .context = {.queries = Positions::range(0, kLength),
                           .keys = Positions::range(0, kLength),
                           .layer = 1,
                           .causal = small.causal,
                           .type = at::kDouble},
               .query = contents(groups * kGroup, 11),
               .key = contents(groups * kGroup, 12),
               .groups = groups} {
    AttentionContext& context = inputs.context;
    if (small.causal) context.mask = causal_mask(context.queries, context.keys);
    const at::Tensor own = inputs.scheme.mask(context);
    if (own.defined()) context.mask = context.mask.defined() ? context.mask.logical_and(own) : own;
    const at::Tensor weight = normals({SmallScheme::kInner, SmallScheme::kWidth}, 3) * 0.5;
    context.projections = {.query_weight = weight, .key_weight = weight.flip(0)};
    if (small.scheme->capabilities().draws_positions) {
      context.drawn_positions = small.scheme->draw_positions({.lengths = {&kLength, 1}});
    }
    if (small.scheme->capabilities().token_inputs) {
      inputs.key_token_inputs =
          small.token_inputs(normals({groups * kGroup, 1, SmallScheme::kWidth}, 4)).select(2, 0);
    }
  }
};

void check_alike(const ScoreShares& found, const ScoreShares& exact, double margin) {
  CHECK(found.content_content == Approx(exact.content_content).margin(margin));
  CHECK(found.content_position == Approx(exact.content_position).margin(margin));
  CHECK(found.position_content == Approx(exact.position_content).margin(margin));
  CHECK(found.position_position == Approx(exact.position_position).margin(margin));
  CHECK(found.interaction == Approx(exact.interaction).margin(margin));
  CHECK(found.deviation == Approx(exact.deviation).epsilon(0.05));
}

}  // namespace

TEST_CASE("shares of the scores are those of the terms that schemes are written with") {
  for (const std::string name :
       {"none", "transformer_xl", "tupe", "deberta", "t5", "alibi", "kerple", "fire", "shaw",
        "nezha", "music_transformer", "rope", "xpos", "rerope"}) {
    for (const bool causal : {false, true}) {
      DYNAMIC_SECTION(name << (causal ? ", causal" : "")) {
        Case one(name, causal, 24);
        const auto found = score_shares(one.inputs), exact = exact_shares(one.inputs);
        for (std::size_t h = 0; h < found.size(); ++h) check_alike(found[h], exact[h], 0.025);
      }
    }
  }
}

TEST_CASE("what a table leaves in queries and keys is split as the sum that it is") {
  Case one("none", false, 24);
  one.inputs.query_positions = normals({3, kLength, 4}, 7);
  one.inputs.key_positions = normals({3, kLength, 4}, 8);
  const auto found = score_shares(one.inputs), exact = exact_shares(one.inputs);
  for (std::size_t h = 0; h < found.size(); ++h) {
    check_alike(found[h], exact[h], 0.025);
    CHECK(exact[h].position_position > 0.1);
    CHECK(exact[h].content_position > 0.1);
    CHECK(exact[h].position_content > 0.1);
    CHECK(found[h].interaction < 1e-9);
  }
}

TEST_CASE("the interaction is what only rotations have") {
  for (const std::string name : {"transformer_xl", "tupe", "deberta", "t5", "alibi"}) {
    CAPTURE(name);
    for (const ScoreShares& head : score_shares(Case(name, false, 2).inputs)) {
      CHECK(head.interaction < 1e-9);
    }
  }
  CHECK(score_shares(Case("rope", false, 8).inputs)[0].interaction > 0.1);
}

TEST_CASE("the shares of every scheme sum to 1") {
  for (const std::string& name : position_names()) {
    CAPTURE(name);
    for (const ScoreShares& head : score_shares(Case(name, false, 2).inputs)) {
      CHECK(head.content_content + head.of_positions() == Approx(1).margin(1e-4));
      CHECK(std::isfinite(head.deviation));
      for (const double share : {head.content_content, head.content_position, head.position_content,
                                 head.position_position, head.interaction}) {
        CHECK(share >= 0);
      }
    }
  }
}

TEST_CASE("shares are known where only contents, or only positions, matter") {
  for (const ScoreShares& head : score_shares(Case("none", true, 2).inputs)) {
    CHECK(head.content_content == Approx(1).margin(1e-9));
  }
  Case steep("t5", false, 2);
  for (const Parameter& parameter : steep.small.parameters.all()) {
    parameter.value.detach().mul_(1e4);
  }
  for (const ScoreShares& head : score_shares(steep.inputs)) {
    CHECK(head.position_position > 0.9999);
  }
  Case flat("none", false, 2);
  flat.inputs.key.zero_();
  for (const ScoreShares& head : score_shares(flat.inputs)) {
    CHECK(std::isnan(head.content_content));
    CHECK(head.deviation == 0);
  }
}

TEST_CASE("the errors of the shares are how far other contents put them") {
  constexpr int kDraws = 40;
  const std::vector<std::pair<double ScoreShares::*, double ScoreShares::Errors::*>> figures = {
      {&ScoreShares::content_content, &ScoreShares::Errors::content_content},
      {&ScoreShares::interaction, &ScoreShares::Errors::interaction}};
  Case one("rope", false, 6);
  std::vector<ScoreShares> draws;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const auto some = [&](std::uint64_t which) {
      return normals({6 * kGroup, SmallScheme::kHeads, SmallScheme::kHeadWidth},
                     100 + 2 * draw + which);
    };
    one.inputs.query = some(0);
    one.inputs.key = some(1);
    draws.push_back(score_shares(one.inputs)[0]);
  }
  for (const auto& [share, error] : figures) {
    double mean = 0, squares = 0, said = 0;
    for (const ScoreShares& draw : draws) mean += draw.*share / kDraws;
    for (const ScoreShares& draw : draws) {
      squares += std::pow(draw.*share - mean, 2) / (kDraws - 1);
      said += std::pow(draw.errors.*error, 2) / kDraws;
    }
    CAPTURE(mean, squares, said);
    CHECK(said > 0.5 * squares);
    CHECK(said < 2 * squares);
  }
}

TEST_CASE("contents that say the same leave no error, and one group of them says none") {
  Case one("t5", false, 1);
  CHECK(std::isnan(score_shares(one.inputs)[0].errors.of_positions));
  one.inputs.query = one.inputs.query.repeat({3, 1, 1});
  one.inputs.key = one.inputs.key.repeat({3, 1, 1});
  one.inputs.groups = 3;
  CHECK(score_shares(one.inputs)[0].errors.of_positions < 1e-9);
}
