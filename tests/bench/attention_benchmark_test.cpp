// What is measured and how lengths cross; the times themselves are no test's business.
#include "bench/attention_benchmark.h"

#include "bench/benchmark.h"
#include "catch.h"
#include "config/load.h"
#include "has.h"

using namespace roformer;

namespace {

Settings small_layer() {
  return default_settings({{"task", "causal_lm"},
                           {"model.layers", "1"},
                           {"model.width", "32"},
                           {"model.heads", "2"},
                           {"model.feed_forward", "32"},
                           {"model.vocabulary", "50"}});
}

}  // namespace

TEST_CASE("every kernel and form is measured at every length") {
  std::int64_t done = 0, of = 0;
  const AttentionBenchmark result =
      benchmark_attention(small_layer(), {},
                          {.kernels = attention_kernels(),
                           .lengths = {64, 1024},
                           .repeats = 1,
                           .window = 16,
                           .forms = true},
                          [&](std::int64_t now, std::int64_t all) { done = now, of = all; });
  CHECK(done == of);
  REQUIRE(result.costs.size() == 8);
  for (const AttentionCost& cost : result.costs) {
    INFO(cost.kernel << " at " << cost.length);
    CHECK(cost.remark.empty());
    CHECK(cost.forward > 0);
    CHECK(cost.training > 0);
    CHECK(cost.memory > 0);
  }
  // Neither linear attention nor a window holds a matrix of the length's square: over 16 times the
  // length a layer grows by about 16 (small buffers beside it come and go), such a matrix by 256.
  CHECK(result.costs[7].kernel == "favor");
  CHECK(result.costs[5].memory < 1024 * 1024 * 4);
  CHECK(result.costs[6].memory / result.costs[2].memory < 64);
  REQUIRE(result.forms.size() == 2);
  CHECK(result.forms[1].length == 1024);
  CHECK(result.forms[1].chunked > 0);
  CHECK(result.forms[1].not_causal > 0);
  CHECK(result.forms[1].cumulative > 0);
}

TEST_CASE("what would take too long or too much is left out and said") {
  const AttentionBenchmark result = benchmark_attention(small_layer(), {},
                                                        {.kernels = {"softmax", "window"},
                                                         .lengths = {16, 64},
                                                         .repeats = 1,
                                                         .window = 8,
                                                         .forms = true,
                                                         .longest = 1e-9,
                                                         .memory = 1000},
                                                        [](std::int64_t, std::int64_t) {});
  REQUIRE(result.costs.size() == 4);
  CHECK(result.costs[0].training > 0);
  CHECK(has(result.costs[1].remark, "its masks would take"));
  CHECK(has(result.costs[2].remark, "a pass would take about"));
  CHECK(result.costs[2].training < 0);
  CHECK(has(result.forms[0].remark, "its states would take"));
}

TEST_CASE("a benchmark of attention that is stopped has what was measured so far") {
  const AttentionBenchmark result = benchmark_attention(small_layer(), {},
                                                        {.kernels = {"softmax", "elu"},
                                                         .lengths = {16, 64},
                                                         .repeats = 3,
                                                         .stopped = [] { return true; }},
                                                        [](std::int64_t, std::int64_t) {});
  REQUIRE(result.costs.size() == 1);
  CHECK(result.costs[0].training > 0);
}

TEST_CASE("lines of powers cross where they do") {
  std::vector<AttentionCost> costs;
  for (const std::int64_t length : {512, 1024, 2048, 4096}) {
    const auto n = static_cast<double>(length);
    costs.push_back({.kernel = "softmax", .length = length, .training = n * n});
    costs.push_back({.kernel = "elu", .length = length, .training = 1500 * n});
    costs.push_back({.kernel = "favor", .length = length, .training = 9000 * n});
  }
  CHECK(crossing_point(costs, "elu").value() == Approx(1500));
  CHECK_FALSE(crossing_point(costs, "favor"));
  CHECK_FALSE(crossing_point(costs, "softmax"));
  CHECK_FALSE(crossing_point(costs, "elu", 2048));
  std::vector<AttentionCost> noisy = costs;
  noisy[10].training = 2 * noisy[9].training;  // slower again at the longest
  CHECK_FALSE(crossing_point(noisy, "elu"));
  costs[4].training = -1;  // elu at 1,024 was not measured: between 512 and 2,048
  CHECK(crossing_point(costs, "elu").value() == Approx(1500));
}
