#include "base/tuned_environment.h"

#include <cstdlib>
#include <string>

#include "catch.h"

using namespace roformer;

namespace {

std::string spins_after_tuning() {
  tune_environment();
  const char* const value = std::getenv("GOMP_SPINCOUNT");
  return value == nullptr ? "" : value;
}

}  // namespace

TEST_CASE("threads wait as the user says, else not for long") {
  ::unsetenv("OMP_WAIT_POLICY");
  ::unsetenv("GOMP_SPINCOUNT");
  CHECK(spins_after_tuning() == "5000");
  CHECK(untuned("run").starts_with("unset GOMP_SPINCOUNT "));
  CHECK(untuned("run").ends_with("; run"));
  ::unsetenv("ROFORMER_TUNED");
  ::setenv("GOMP_SPINCOUNT", "7", 1);
  CHECK(spins_after_tuning() == "7");
  CHECK(untuned("run") == "run");
  ::unsetenv("GOMP_SPINCOUNT");
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  CHECK(spins_after_tuning().empty());
  ::unsetenv("OMP_WAIT_POLICY");
}
