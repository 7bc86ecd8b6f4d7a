#include "tensor/gpu.h"

#include "catch.h"
#include "config/device_settings.h"
#include "tensor/device.h"

using namespace roformer;

TEST_CASE("a machine without an NVIDIA driver says so and opens nothing") {
  const GpuSupport support = open_gpu_libraries("/nonexistent/driver");
  if (support.usable) return;  // linked with a GPU's libraries
  CHECK(support.reason == "no NVIDIA driver on this machine");
}

TEST_CASE("a driver without LibTorch's GPU libraries or without a GPU is told apart from none") {
  const GpuSupport support = open_gpu_libraries("/proc/self/exe");
  if (support.usable) return;
  CHECK(support.reason.find("LibTorch") == 0);
}

TEST_CASE("an automatic device is the CPU where no GPU is usable, and cuda is refused with the reason") {
  if (gpu_support().usable) return;
  CHECK(plan_compute(DeviceKind::automatic, Precision::fp32, 64).device.is_cpu());
  CHECK_THROWS_WITH(plan_compute(DeviceKind::cuda, Precision::fp32, 64),
                    Catch::Contains(gpu_support().reason));
}
