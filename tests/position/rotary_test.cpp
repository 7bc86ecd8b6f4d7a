// Properties of rotations that hold whatever the numbers are.
#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "config/schemes/rope.h"
#include "distance.h"
#include "position/rope.h"
#include "position/rotary_table.h"
#include "position/scheme.h"

using namespace roformer;

namespace {

Rotation rotation_at(std::int64_t position, RotaryLayout layout, std::int64_t width = 8,
                     at::ScalarType type = at::kDouble) {
  return make_rotation(
      {.positions = Positions::range(position, 1),
       .angles = {.frequencies = rotary_frequencies(width, 10000), .layout = layout},
       .type = type});
}

}  // namespace

TEST_CASE("a rotation keeps norms, and two make the rotation of their difference") {
  at::manual_seed(1);
  const at::Tensor q = at::randn({1, 1, 1, 8}, at::kDouble),
                   k = at::randn({1, 1, 1, 8}, at::kDouble);
  for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half}) {
    const at::Tensor q7 = rotated(q, rotation_at(7, layout));
    CHECK(std::abs((q7.norm() - q.norm()).item<double>()) < 1e-12);
    // (R_m q).(R_n k) = q.(R_(n-m) k)
    const at::Tensor k19 = rotated(k, rotation_at(19, layout));
    const at::Tensor k12 = rotated(k, rotation_at(12, layout));
    CHECK(std::abs(((q7 * k19).sum() - (q * k12).sum()).item<double>()) < 1e-12);
    CHECK(std::abs(((q7 * k19).sum() - (q * k).sum()).item<double>()) > 1e-3);
  }
}

TEST_CASE("the layouts are the same under the permutation of features") {
  at::manual_seed(2);
  const at::Tensor x = at::randn({2, 3, 5, 8}, at::kDouble);
  const at::Tensor pi = at::tensor(half_permutation(8), at::kLong);
  const auto rotate = [](const at::Tensor& input, RotaryLayout layout) {
    return rotated(
        input,
        make_rotation({.positions = Positions::range(3, 5),
                       .angles = {.frequencies = rotary_frequencies(8, 10000), .layout = layout},
                       .type = at::kDouble}));
  };
  const at::Tensor half = rotate(x.index_select(-1, pi), RotaryLayout::half);
  const at::Tensor interleaved = rotate(x, RotaryLayout::interleaved).index_select(-1, pi);
  CHECK(distance(half, interleaved) < 1e-14);
}

TEST_CASE("a partial rotation leaves the other features alone") {
  const at::Tensor x = at::randn({1, 1, 1, 8}, at::kDouble);
  const at::Tensor result = rotated(x, rotation_at(5, RotaryLayout::half, 4));
  CHECK(distance(result.narrow(-1, 4, 4), x.narrow(-1, 4, 4)) == 0);
  CHECK(distance(result.narrow(-1, 0, 4), x.narrow(-1, 0, 4)) > 1e-3);
}

TEST_CASE("float tables at position 100000 are within 1e-6 of float64") {
  const Positions far = Positions::range(100'000, 64);
  for (const RopeScaling scaling :
       {RopeScaling::none, RopeScaling::linear, RopeScaling::ntk, RopeScaling::dynamic_ntk,
        RopeScaling::yarn, RopeScaling::yarn_paper, RopeScaling::llama3, RopeScaling::ntk_mixed}) {
    const ScaledFrequencies scaled = scaled_frequencies(
        {.scaling = scaling, .factor = 8, .original_length = 4096}, 128, 0, 100'064);
    const RotaryKey key{.positions = far,
                        .angles = {.frequencies = scaled.frequencies, .factor = scaled.factor}};
    RotaryKey wide = key;
    wide.type = at::kDouble;
    const Rotation narrow = make_rotation(key), exact = make_rotation(wide);
    const auto relative = [](const at::Tensor& a, const at::Tensor& b) {
      return ((a.to(at::kDouble) - b).abs() / b.abs()).max().item<double>();
    };
    CHECK(relative(narrow.cosine, exact.cosine) < 1e-6);
    CHECK(relative(narrow.sine, exact.sine) < 1e-6);
    // The tables really stand at those positions: pair 0 has frequency 1.
    if (scaling == RopeScaling::none) {
      CHECK(exact.sine[63][0].item<double>() == Approx(std::sin(100'063.0)).epsilon(1e-12));
    }
  }
}

TEST_CASE("tables of positions that never come back are forgotten") {
  RotaryTables tables;
  const auto at_position = [&](std::int64_t position) {
    return tables.get({.positions = Positions::range(position, 1),
                       .angles = {.frequencies = rotary_frequencies(8, 10000)}});
  };
  const at::Tensor first = at_position(0).cosine, last = at_position(5000).cosine;
  for (std::int64_t position = 1; position <= 5000; ++position) at_position(position);
  CHECK(at_position(5000).cosine.is_same(at_position(5000).cosine));
  CHECK_FALSE(at_position(0).cosine.is_same(first));
  CHECK(at::equal(at_position(0).cosine, first));
  CHECK(at::equal(at_position(5000).cosine, last));
}

TEST_CASE("blocks of xPos hide nothing of a text that is one token longer than an odd length") {
  ParameterStore parameters(1);
  PositionSettings settings;
  settings.scheme = "xpos";
  for (const std::int64_t trained : {6, 7}) {
    const auto scheme = make_scheme({.settings = settings,
                                     .shape = {.layers = 1,
                                               .width = 8,
                                               .heads = 1,
                                               .head_width = 8,
                                               .causal = true,
                                               .training_length = trained},
                                     .parameters = parameters});
    const Positions positions = Positions::range(0, trained + 1);
    const at::Tensor mask = scheme->mask({.queries = positions, .keys = positions, .causal = true});
    REQUIRE(mask.defined());
    // Two blocks of four tokens; of three there is a third, to which the first is hidden.
    CHECK(mask[trained][0].item<bool>() == (trained == 7));
  }
}
