#include "base/process.h"

#include <cstdlib>
#include <string>

#include "catch.h"
#include "has.h"

using namespace roformer;

namespace {

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void forget() {
  for (const char* const name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "LRU_CACHE_CAPACITY",
                                 "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "GLIBC_TUNABLES",
                                 "MALLOC_TRIM_THRESHOLD_", "ROFORMER_TUNED"}) {
    ::unsetenv(name);
  }
}

}  // namespace

TEST_CASE("what the runtimes below read is as the user says, else as this program needs it") {
  forget();
  tune_environment();
  CHECK(value_of("GOMP_SPINCOUNT") == "5000");
  CHECK(value_of("ONEDNN_PRIMITIVE_CACHE_CAPACITY") == "64");
  CHECK(value_of("LRU_CACHE_CAPACITY") == "64");
  CHECK(untuned("run") ==
        "unset GOMP_SPINCOUNT ONEDNN_PRIMITIVE_CACHE_CAPACITY LRU_CACHE_CAPACITY GLIBC_TUNABLES "
        "ROFORMER_TUNED; run");
  tune_environment();  // again, in a program that this one started
  CHECK(has(untuned("run"), "GOMP_SPINCOUNT"));

  forget();
  ::setenv("GOMP_SPINCOUNT", "7", 1);
  ::setenv("LRU_CACHE_CAPACITY", "9", 1);
  tune_environment();
  CHECK(value_of("GOMP_SPINCOUNT") == "7");
  CHECK(value_of("LRU_CACHE_CAPACITY") == "9");
  CHECK(untuned("run") ==
        "unset ONEDNN_PRIMITIVE_CACHE_CAPACITY GLIBC_TUNABLES ROFORMER_TUNED; run");

  forget();
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  ::setenv("MALLOC_TRIM_THRESHOLD_", "131072", 1);
  tune_environment();
  CHECK(value_of("GOMP_SPINCOUNT").empty());
  CHECK(value_of("GLIBC_TUNABLES").empty());
  forget();
}
