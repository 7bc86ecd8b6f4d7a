// Positions that are drawn: what holds for each of the three ways, and that a batch's random key is
// all that they depend on.
#include <ATen/ATen.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "config/schemes/explicit_positions.h"
#include "position/scheme.h"
#include "position/scheme_parts.h"

using namespace roformer;

namespace {

struct Drawer {
  ParameterStore parameters{1};
  std::unique_ptr<PositionScheme> scheme;

  explicit Drawer(const ExplicitPositionsSettings& own, bool causal = true) {
    PositionSettings settings("explicit_positions");
    settings.of<ExplicitPositionsSettings>() = own;
    scheme = make_scheme({.settings = settings,
                          .shape = {.layers = 1,
                                    .width = 8,
                                    .heads = 2,
                                    .head_width = 4,
                                    .causal = causal,
                                    .training_length = 16},
                          .parameters = parameters});
  }
  at::Tensor operator()(std::vector<std::int64_t> lengths, bool training, std::uint64_t key = 1,
                        const at::Tensor& earlier = {}) const {
    return scheme->draw_positions(
        {.lengths = lengths, .training = training, .key = key, .earlier = earlier});
  }
};

}  // namespace

TEST_CASE("a sorted sample has different numbers, each as likely as any other") {
  std::vector<int> seen(10);
  for (std::uint64_t key = 0; key < 4000; ++key) {
    const std::vector<double> sample = sorted_sample(3, 5, 10, key);
    REQUIRE(sample.size() == 3);
    REQUIRE(std::is_sorted(sample.begin(), sample.end()));
    REQUIRE(std::set<double>(sample.begin(), sample.end()).size() == 3);
    for (const double value : sample) ++seen.at(static_cast<std::size_t>(value - 5));
  }
  for (const int count : seen) CHECK(std::abs(count - 1200) < 150);  // five standard deviations
  CHECK(sorted_sample(10, 0, 10, 3).back() == 9);
}

TEST_CASE("a text longer than training's has its own draw, whatever text is beside it") {
  const Drawer draw({.positions = 64});
  const at::Tensor together = draw({20, 9, 31}, false);
  CHECK(together.sizes() == at::IntArrayRef({3, 31}));
  CHECK(at::equal(together[0].narrow(0, 0, 20), draw({20}, false)[0]));
  CHECK(at::equal(together[1].narrow(0, 0, 9), draw({9}, false)[0]));
  CHECK(at::equal(together[2], draw({31}, false)[0]));
}

TEST_CASE("randomized positions change with the batch, and outside of training never") {
  const Drawer draw({.positions = 64});
  CHECK(at::equal(draw({12, 9}, true, 4), draw({12, 9}, true, 4)));
  CHECK(!at::equal(draw({12}, true, 4), draw({12}, true, 5)));
  CHECK(draw({12, 9}, true).size(0) == 1);
  const at::Tensor whole = draw({12}, false, 8), other = draw({12}, false, 9);
  CHECK(at::equal(whole, other));
  // A text that is read on keeps the positions of what was read.
  const at::Tensor begun = draw({5}, false);
  CHECK(at::equal(whole.narrow(1, 0, 5), begun));
  CHECK(at::equal(whole.narrow(1, 5, 7), draw({7}, false, 1, begun)));
  // Beyond the training's length it goes on one by one, in a table up to its last row.
  const at::Tensor full = draw({16}, false);
  CHECK(draw({1}, false, 1, full).item<double>() == full.max().item<double>() + 1);
  CHECK(draw({64}, false, 1, full).max().item<double>() == full.max().item<double>() + 64);
  const Drawer table({.form = ExplicitForm::learned, .positions = 64});
  CHECK_THROWS_AS(table({64}, false, 1, full), Error);
  CHECK_THROWS_AS(draw({65}, true), Error);
}

TEST_CASE("noisy ALiBi draws distances that begin with 0") {
  const Drawer draw({.form = ExplicitForm::noisy_alibi, .positions = 20});
  const at::Tensor drawn = draw({20}, true);
  CHECK(at::equal(drawn, at::arange(20, at::kDouble).unsqueeze(0)));  // all that there are
  CHECK(draw({6}, true)[0][0].item<double>() == 0);
}

TEST_CASE("SHAPE shifts each sequence in training and none outside") {
  const Drawer draw({.draw = PositionDraw::shape, .positions = 500});
  const at::Tensor drawn = draw({6, 6, 4}, true);
  REQUIRE(drawn.sizes() == at::IntArrayRef({3, 6}));
  CHECK(at::equal(drawn.diff(1, 1), at::ones({3, 5}, at::kDouble)));
  CHECK(drawn[0][0].item<double>() != drawn[1][0].item<double>());
  CHECK(drawn.max().item<double>() < 506);
  CHECK(at::equal(draw({6}, false), at::arange(6, at::kDouble).unsqueeze(0)));
  CHECK(draw({1}, false, 1, draw({6}, false)).item<double>() == 6);
}

TEST_CASE("CAPE shifts and stretches around the middle in training and not outside") {
  const ExplicitPositionsSettings own{
      .draw = PositionDraw::cape, .global_shift = 3, .local_shift = 0.25, .largest_scale = 2};
  const Drawer draw(own, /*causal=*/false);
  const at::Tensor drawn = draw({7, 5}, true);
  REQUIRE(drawn.size(0) == 2);
  for (std::int64_t s = 0; s < 2; ++s) {
    const double middle = s == 0 ? 3 : 2;
    for (std::int64_t i = 0; i < 7; ++i) {
      CHECK(std::abs(drawn[s][i].item<double>()) <=
            (std::abs(static_cast<double>(i) - middle) + 3.25) * 2);
      if (i > 0) CHECK(drawn[s][i].item<double>() > drawn[s][i - 1].item<double>());
    }
  }
  CHECK(at::allclose(draw({7, 5}, false)[1], at::arange(7, at::kDouble) - 2));
  const Drawer writer(own);  // whose middle does not move while the text grows
  CHECK(at::allclose(writer({3}, false)[0], at::arange(3, at::kDouble) - 7.5));
  CHECK(writer({1}, false, 1, writer({3}, false)).item<double>() == 3 - 7.5);
}

TEST_CASE("a learned table that is too short for the draw is refused in words") {
  const Drawer draw({.form = ExplicitForm::learned, .positions = 16});
  const at::Tensor beyond = at::tensor({15.0, 16.0}).to(at::kDouble).unsqueeze(0);
  CHECK_THROWS_AS(draw.scheme->embedding_at(beyond), Error);
}
