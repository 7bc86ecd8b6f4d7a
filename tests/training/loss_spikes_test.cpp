#include "training/step_account.h"

#include "base/random.h"
#include "catch.h"

using namespace roformer;

TEST_CASE("a loss that leaps is told from noise, once, and falling losses are none") {
  Random random(2);
  LossSpikes spikes;
  for (int step = 0; step < 500; ++step) {
    CHECK_FALSE(spikes.add(3 + 6.0 / (1 + step / 50.0) + 0.3 * random.normal()));
  }
  CHECK(spikes.mean() == Approx(3.5).epsilon(0.1));
  CHECK(spikes.add(7));
  CHECK_FALSE(spikes.add(8));  // the same one
  for (int step = 0; step < 20; ++step) CHECK_FALSE(spikes.add(3.5 + 0.3 * random.normal()));
  CHECK(spikes.add(9));
}

TEST_CASE("a few losses say nothing about the next") {
  LossSpikes spikes;
  for (int step = 0; step < 10; ++step) CHECK_FALSE(spikes.add(1 + step % 2));
  CHECK_FALSE(spikes.add(50));
}
