// Against statsmodels 0.15: proportion_confint(method="wilson") and mcnemar(exact=True).
#include "metrics/statistics.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("Wilson's interval of a share") {
  const Interval interval = wilson_interval(68, 100);
  CHECK(interval.low == Approx(0.5834).margin(1e-4));
  CHECK(interval.high == Approx(0.7633).margin(1e-4));
  CHECK(wilson_interval(0, 10).low == 0);
  CHECK(wilson_interval(0, 10).high == Approx(0.2775).margin(1e-4));
  CHECK(wilson_interval(10, 10).high == Approx(1));
  CHECK(wilson_interval(0, 0).degenerate);
  // The paper's test set of 1,793 triplets.
  CHECK(standard_error(1215, 1793) == Approx(0.01104).margin(1e-5));
}

TEST_CASE("McNemar's test looks at the questions that one of two has right") {
  CHECK(mcnemar_exact(5, 15) == Approx(0.041389).margin(1e-6));
  CHECK(mcnemar_exact(15, 5) == mcnemar_exact(5, 15));
  CHECK(mcnemar_exact(10, 10) == 1);
  CHECK(mcnemar_exact(0, 0) == 1);
  CHECK(mcnemar_exact(0, 6) == Approx(2 * 0.015625));
  CHECK(mcnemar_exact(900, 1000) == Approx(0.0231).margin(2e-4));
}
