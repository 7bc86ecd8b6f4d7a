// The mistakes in `roformer bench scaling` that are found before anything is measured. The README
// of distributed training has a command that is run.
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"

using namespace roformer;

TEST_CASE("a prediction without a network is refused before anything is measured") {
  const std::string config = std::string(CONFIGS) + "/bench/mlm-small.yaml";
  const Outcome asked =
      run({"bench", "scaling", "--config", config, "--ranks", "1", "--predict", "8"});
  CHECK(asked.code == 2);
  CHECK(has(asked.errors, "needs a network, and one process measures none"));
  CHECK(has(asked.errors, "--bandwidth 25e9"));
  CHECK(run({"bench", "scaling", "--config", config, "--bandwidth", "0"}).code == 2);
  CHECK(run({"bench", "scaling", "--config", config, "--latency", "-1"}).code == 2);
}
