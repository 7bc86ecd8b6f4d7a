#include "tensor/gpu.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "tensor/gpu/driver.h"

namespace roformer {
namespace {

// Whether LibTorch's GPU half is linked or was opened. LibTorch itself must not be asked before:
// the first question whether there is a GPU settles for all time that there is none.
bool is_open() {
  return at::CUDAHooksRegistry()->Has("CUDAHooks");
}

}  // namespace

GpuSupport open_gpu_libraries(bool has_driver) {
  if (!is_open() && !has_driver) return {.reason = "no NVIDIA driver on this machine"};
  // Found through the program's own search path, which holds LibTorch's folder. Its initialisers
  // register the GPU with LibTorch; nothing of it is called by name.
  if (!is_open() && dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return {.reason = std::string("LibTorch's GPU libraries cannot be opened: ") + dlerror()};
  }
  if (!at::globalContext().hasCUDA()) return {.reason = "LibTorch sees no GPU"};
  // It plans anew for every length and number of sequences, which are others in each batch here;
  // where they are not, packed_attention asks for it by name.
  at::globalContext().setSDPUseCuDNN(false);
  return {.usable = true};
}

std::uint64_t peak_gpu_memory() {
  if (!is_open() || !at::globalContext().hasCUDA()) return 0;
  c10::DeviceAllocator* const allocator = c10::getDeviceAllocator(c10::kCUDA);
  if (!allocator->initialized()) return 0;
  const c10::Device own = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::uint64_t>(
      allocator->getDeviceStats(own.index()).allocated_bytes[kAll].peak);
}

std::uint64_t free_gpu_memory() {
  const c10::Device own = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
  return c10::getDeviceAllocator(c10::kCUDA)->getMemoryInfo(own.index()).first;
}

const GpuSupport& gpu_support() {
  static const GpuSupport support = open_gpu_libraries(gpu::reason_against_driver().empty());
  return support;
}

}  // namespace roformer
