#include "bench/check_costs.h"

#include "base/output_folder.h"
#include "catch.h"
#include "config/load.h"

using namespace roformer;

TEST_CASE("what checksums cost is measured of weights, of all of a checkpoint and of tokens") {
  const Settings settings = default_settings({{"model.layers", "1"},
                                              {"model.width", "32"},
                                              {"model.heads", "2"},
                                              {"model.feed_forward", "32"},
                                              {"model.vocabulary", "50"},
                                              {"data.length", "8"},
                                              {"training.batch", "2"}});
  const ScratchFolder folder("check-costs-test");
  const std::vector<CheckCost> costs = measure_check_costs(settings, {}, folder.path(), 1);
  REQUIRE(costs.size() == 3);
  CHECK(costs[0].check_milliseconds > 0);
  CHECK(costs[1].check_milliseconds > 0);
  CHECK(costs[2].check_milliseconds >= 0);
  for (const CheckCost& cost : costs) {
    CAPTURE(cost.what);
    CHECK(cost.work_milliseconds > 0);
  }
}
