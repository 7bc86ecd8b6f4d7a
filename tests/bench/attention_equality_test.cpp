// What gpu-check asks of a GPU's attention, asked of the CPU's own.
#include "bench/device_equality.h"

#include "catch.h"
#include "tensor/dispatch.h"

using namespace roformer;

TEST_CASE("attention by tiles is compared with a device's, case by case") {
  const AttentionEquality itself = compare_attention(at::kCPU);
  CHECK(itself.passed());
  CHECK(itself.cases == 20);
  CHECK(itself.difference == 0);
  const ComposedForms composed;  // which have no such attention
  const AttentionEquality none = compare_attention(at::kCPU);
  CHECK_FALSE(none.passed());
  CHECK(none.problem == "cpu has no attention by tiles for heads of 64");
}
