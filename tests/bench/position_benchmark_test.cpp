// What is measured of whom; the times themselves are no test's business.
#include "bench/position_benchmark.h"

#include "bench/benchmark.h"
#include "catch.h"
#include "config/load.h"

using namespace roformer;

namespace {

Settings small() {
  return default_settings({{"model.layers", "1"},
                           {"model.width", "32"},
                           {"model.heads", "2"},
                           {"model.feed_forward", "32"},
                           {"model.vocabulary", "50"}});
}

}  // namespace

TEST_CASE("every scheme is measured beside a none that looks to the same sides") {
  std::int64_t done = 0, of = 0;
  const std::vector<PositionCost> costs =
      benchmark_positions(small(), {},
                          {.schemes = {"shaw", "cope", "learned"},
                           .length = 600,
                           .sequences = 1,
                           .repeats = 1,
                           .plain = true},
                          [&](std::int64_t now, std::int64_t all) { done = now, of = all; });
  REQUIRE(costs.size() == 5);
  CHECK(costs[0].scheme == "none");
  CHECK(!costs[0].causal);
  CHECK(costs[1].scheme == "none");
  CHECK(costs[1].causal);
  CHECK(costs[2].scheme == "shaw");
  CHECK(costs[3].scheme == "cope");
  CHECK(costs[3].causal);
  CHECK(costs[4].scheme == "learned");  // with more positions than its default table has
  for (const PositionCost& cost : costs) {
    INFO(cost.scheme);
    CHECK(cost.remark.empty());
    CHECK(cost.forward > 0);
    CHECK(cost.training > 0);
    CHECK(cost.step > 0);
    CHECK(cost.memory > 0);
    CHECK(cost.plain_training > 0);
  }
  CHECK(costs[2].plain_memory > 2 * costs[2].memory);  // [L, L, D] beside [L, 2k + 1]
  CHECK(done == of);
}

TEST_CASE("a benchmark that is stopped has what was measured so far") {
  int asked = 0;
  const std::vector<PositionCost> costs = benchmark_positions(
      small(), {},
      {.schemes = {"rope", "learned"},
       .length = 16,
       .sequences = 1,
       .repeats = 50,
       .model = false,
       // Three schemes are made ready, then have their turns; the first round does not count.
       .stopped = [&] { return ++asked == 8; }},
      [](std::int64_t, std::int64_t) {});
  CHECK(asked == 8);
  REQUIRE(costs.size() == 3);
  CHECK(costs[0].forward > 0);
  CHECK(costs[1].forward > 0);
  CHECK(costs[2].forward == -1);
  CHECK(costs[0].memory == -1);
}

TEST_CASE("a benchmark that is stopped before it began makes nothing ready") {
  int asked = 0;
  const std::vector<PositionCost> costs =
      benchmark_positions(small(), {},
                          {.schemes = {"rope", "learned"},
                           .length = 16,
                           .sequences = 1,
                           .model = false,
                           .stopped = [&] { return ++asked > 0; }},
                          [](std::int64_t, std::int64_t) { FAIL("nothing was to be measured"); });
  CHECK(asked == 1);
  REQUIRE(costs.size() == 3);
  CHECK(costs[2].forward == -1);
}

TEST_CASE("a causal scheme is measured in spite of keys that serve the other task") {
  Settings settings = small();
  settings.data.masking.probability = 0.3;
  const std::vector<PositionCost> costs = benchmark_positions(
      settings, {},
      {.schemes = {"cope"}, .length = 16, .sequences = 1, .repeats = 1, .model = false},
      [](std::int64_t, std::int64_t) {});
  REQUIRE(costs.size() == 3);
  for (const PositionCost& cost : costs) CHECK(cost.remark.empty());
}

TEST_CASE("a step of an even number of steps lies between the two in the middle") {
  const StepBenchmark result = step_benchmark({.measured = {{.milliseconds = 4},
                                                            {.milliseconds = 1},
                                                            {.milliseconds = 2},
                                                            {.milliseconds = 9}}},
                                              {.tokens = 6}, {});
  CHECK(result.step_milliseconds == 3);
  CHECK(result.best_milliseconds == 1);
  CHECK(result.tokens_per_second == Approx(2000));
}

TEST_CASE("what does not fit or go together is a remark and not a crash") {
  Settings settings = small();
  settings.attention.kernel = AttentionKernel::elu;
  const std::vector<PositionCost> costs = benchmark_positions(
      settings, {},
      {.schemes = {"shaw"}, .length = 16, .sequences = 1, .repeats = 1, .model = false},
      [](std::int64_t, std::int64_t) {});
  CHECK(costs[0].remark.empty());
  CHECK(costs[1].remark.find("linear attention") != std::string::npos);
  CHECK(costs[1].forward < 0);

  const std::vector<PositionCost> large = benchmark_positions(small(), {},
                                                              {.schemes = {},
                                                               .length = 16,
                                                               .sequences = 1,
                                                               .repeats = 1,
                                                               .model = false,
                                                               .plain = true,
                                                               .memory = 100},
                                                              [](std::int64_t, std::int64_t) {});
  CHECK(large[0].plain_forward < 0);
  CHECK(large[0].remark.find("would take about") != std::string::npos);
}
