#include "tensor/device.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "catch.h"
#include "config/training_settings.h"
#include "tensor/device.h"

using namespace roformer;

TEST_CASE("a machine without an NVIDIA driver says so and opens nothing") {
  const GpuSupport support = open_gpu_libraries(false);
  if (gpu_support().usable) return;  // what is open stays open
  CHECK_FALSE(support.usable);
  CHECK(support.reason == "no NVIDIA driver on this machine");
  CHECK_FALSE(at::CUDAHooksRegistry()->Has("CUDAHooks"));
}

TEST_CASE("a driver without LibTorch's GPU libraries or without a GPU is told apart from none") {
  if (gpu_support().usable) return;
  const GpuSupport support = open_gpu_libraries(true);
  CHECK_FALSE(support.usable);
  CHECK(support.reason.find("LibTorch") == 0);
}

// Alone in its process: elsewhere LibTorch may have been asked about GPUs before its half for them
// was opened, and then answers that there is none for as long as the process lives.
TEST_CASE("LibTorch's GPU half answers", "[.][alone]") {
  CHECK(peak_gpu_memory() == 0);
  open_gpu_libraries(true);
  if (!at::CUDAHooksRegistry()->Has("CUDAHooks")) return;  // only its CPU half is installed
  CHECK(at::detail::getCUDAHooks().compiledWithCuDNN());   // no stand-in for it does
}
TEST_CASE("no question of ours to LibTorch comes before its GPU half is opened") {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK(std::system(("'" + program + "' '[alone]' | grep -q 'All tests passed'").c_str()) == 0);
}

TEST_CASE(
    "an automatic device is the CPU where no GPU is usable, and cuda is refused with the reason") {
  if (gpu_support().usable) return;
  CHECK(plan_compute(DeviceKind::automatic, Precision::fp32, 64).device.is_cpu());
  CHECK_THROWS_WITH(plan_compute(DeviceKind::cuda, Precision::fp32, 64),
                    Catch::Contains(gpu_support().reason));
}
