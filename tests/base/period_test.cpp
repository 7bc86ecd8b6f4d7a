#include "base/period.h"

#include "base/error.h"
#include "catch.h"

using namespace roformer;

TEST_CASE("periods read and print in every unit") {
  CHECK(parse_period("500") == Period{500, Period::Unit::steps});
  CHECK(parse_period("5k") == Period{5000, Period::Unit::steps});
  CHECK(parse_period("3e") == Period{3, Period::Unit::epochs});
  CHECK(parse_period("0.5e") == Period{0.5, Period::Unit::epochs});
  CHECK(parse_period("20Mt") == Period{20e6, Period::Unit::tokens});
  CHECK(parse_period("90min") == Period{90, Period::Unit::minutes});
  for (const char* text : {"500", "3e", "0.5e", "20Mt", "90min", "1500t", "0"}) {
    CHECK(to_string(parse_period(text)) == text);
  }
}

TEST_CASE("what is not a period is refused with the forms that are") {
  for (const char* text : {"", "abc", "-5", "3x", "1.5", "1e3", "5 e", "2..5e", "Mt",
                           "1000000000000000G", "010", "010Mt", "00.5e"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_period(text), Error);
  }
}

TEST_CASE("a period is crossed once per multiple") {
  const Period every{100, Period::Unit::steps};
  CHECK_FALSE(crosses(every, {.steps = 98}, {.steps = 99}));
  CHECK(crosses(every, {.steps = 99}, {.steps = 100}));
  CHECK_FALSE(crosses(every, {.steps = 100}, {.steps = 101}));
  CHECK_FALSE(crosses(Period{}, {.steps = 99}, {.steps = 100}));
  CHECK(reached(Period{10, Period::Unit::minutes}, {.minutes = 10.5}));
}
