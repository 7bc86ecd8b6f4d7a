#include "tensor/profile.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("a kernel's name is told without its template's arguments") {
  CHECK(short_kernel_name("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT") ==
        "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT");
  CHECK(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::"
                          "FillFunctor<float>, std::array<char*, 1ul> >(int, "
                          "at::native::FillFunctor<float>)") == "vectorized_elementwise_kernel");
  CHECK(short_kernel_name("void roformer::kernels::device::rotate<float, 1>(Rotate<float>)") ==
        "rotate");
  CHECK(short_kernel_name("void (anonymous namespace)::softmax_warp<8>(float*)") == "softmax_warp");
  CHECK(short_kernel_name("Memcpy HtoD (Pinned -> Device)") == "Memcpy HtoD");
}

TEST_CASE("a device's work is told by the operation and the scope in which it was started") {
  const std::vector<OperationTime> times =
      by_operation({{.name = "aten::mm", .begin = 20, .end = 30},
                    {.name = "products/project", .begin = 10, .end = 40},
                    {.name = "aten::linear", .begin = 5, .end = 50},
                    {.name = "optimizer/adamw", .begin = 60, .end = 70}},
                   {{.kernel = "nvjet", .started_at = 25, .milliseconds = 2},
                    {.kernel = "nvjet", .started_at = 26, .milliseconds = 3},
                    {.kernel = "void cast<float>(int)", .started_at = 35, .milliseconds = 1},
                    {.kernel = "bias", .started_at = 45, .milliseconds = 7},
                    {.kernel = "update", .started_at = 61, .milliseconds = 0.5},
                    {.kernel = "nobody", .started_at = 80, .milliseconds = 0.25}});
  const auto is = [](const OperationTime& time, const char* scope, const char* name,
                     const char* kernel, double milliseconds, std::int64_t calls) {
    return time.scope == scope && time.name == name && time.kernel == kernel &&
           time.milliseconds == milliseconds && time.calls == calls;
  };
  REQUIRE(times.size() == 5);
  CHECK(is(times[0], "", "aten::linear", "bias", 7, 1));
  CHECK(is(times[1], "products/project", "aten::mm", "nvjet", 5, 2));
  CHECK(is(times[2], "products/project", "", "cast", 1, 1));
  CHECK(is(times[3], "optimizer/adamw", "", "update", 0.5, 1));
  CHECK(is(times[4], "", "", "nobody", 0.25, 1));
}
