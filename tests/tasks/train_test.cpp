// What is refused when a training is opened, before anything is written.
#include "tasks/train.h"

#include "base/error.h"
#include "catch.h"
#include "tiny_run.h"

using namespace roformer;

namespace {

std::string refusal(const Settings& settings) {
  try {
    train_run(settings, ExistingRun::refuse);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a data set that was split otherwise than the configuration wants is refused") {
  TinyRun tiny("rope");
  tiny.settings.data.validation_fraction = 0.1;
  const std::string message = refusal(tiny.settings);
  CHECK_THAT(message, Catch::Contains("data.validation_fraction: 0.1 is wanted"));
  CHECK_THAT(message, Catch::Contains("was prepared with 0.2"));
  CHECK_FALSE(std::filesystem::exists(tiny.run()));
  tiny.settings.data.validation_fraction = 0.2;
  CHECK(refusal(tiny.settings).empty());
}

TEST_CASE("a place where nothing can be written is named before the first step") {
  TinyRun tiny("rope");
  tiny.settings.runs = "/proc/runs";  // read-only even for root
  CHECK_THAT(refusal(tiny.settings), Catch::Contains("/proc/runs"));
}
