#include "tensor/gpu.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>

namespace roformer {

GpuSupport open_gpu_libraries(const std::filesystem::path& driver) {
  if (at::globalContext().hasCUDA()) return {.usable = true};  // linked, or opened before
  std::error_code error;
  if (!std::filesystem::exists(driver, error)) return {.reason = "no NVIDIA driver on this machine"};
  // Found through the program's own search path, which holds LibTorch's folder. Its initialisers
  // register the GPU with LibTorch; nothing of it is called by name.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return {.reason = std::string("LibTorch's GPU libraries cannot be opened: ") + dlerror()};
  }
  if (!at::globalContext().hasCUDA()) return {.reason = "LibTorch sees no GPU"};
  return {.usable = true};
}

std::uint64_t peak_gpu_memory() {
  if (!at::globalContext().hasCUDA()) return 0;
  c10::DeviceAllocator* const allocator = c10::getDeviceAllocator(c10::kCUDA);
  if (!allocator->initialized()) return 0;
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::uint64_t>(allocator->getDeviceStats(0).allocated_bytes[kAll].peak);
}

const GpuSupport& gpu_support() {
  static const GpuSupport support = open_gpu_libraries("/proc/driver/nvidia/version");
  return support;
}

}  // namespace roformer
