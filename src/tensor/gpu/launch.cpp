#include "tensor/gpu/launch.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tensor/gpu/driver.h"

namespace roformer::gpu {
namespace {

KernelEmulation::Emulate& emulation() {
  static KernelEmulation::Emulate current;
  return current;
}

Function function_of(const Launch& what, c10::Device device) {
  static std::mutex mutex;
  struct Loaded {
    Function function = nullptr;
    std::int64_t shared_bytes = 0;
  };
  static std::map<std::pair<int, std::string>, Loaded> all;
  const std::lock_guard lock(mutex);
  Loaded& loaded = all[{device.index(), what.kernel}];
  if (loaded.function == nullptr) {
    loaded.function = load_kernel(
        compiled_kernel(what.source, what.kernel, architecture_of(device), kernel_cache()), device);
  }
  if (what.shared_bytes > loaded.shared_bytes) {
    allow_shared_memory(loaded.function, what.shared_bytes);
    loaded.shared_bytes = what.shared_bytes;
  }
  return loaded.function;
}

// Tries to compile and load a kernel for this process's GPU. Returns the reason against our
// kernels, if there is one.
std::string find_reason() {
  if (!reason_against_driver().empty()) return reason_against_driver();
  if (!reason_against_compiler().empty()) return reason_against_compiler();
  try {
    function_of({.source = "rotate", .kernel = "rotate<float, 1, false>"},
                c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

const std::string& reason_against_kernels() {
  static const std::string reason = find_reason();
  return reason;
}

std::int64_t certain_shared_memory(at::Device device) {
  constexpr std::int64_t kUnasked = 48 << 10;
  return device.is_cpu() || compute_capability(device) >= 80 ? kLeastSharedMemory : kUnasked;
}

bool runs_kernels(const at::Tensor& x) {
  if (x.is_cpu()) return emulation() != nullptr;
  return x.is_cuda() && reason_against_kernels().empty();
}

void launch(const Launch& what, at::Device device) {
  if (what.blocks_x == 0 || what.blocks_y == 0) return;
  constexpr std::int64_t kMostY = 65535, kMostX = 2147483647;
  ROFORMER_ASSERT(what.blocks_x <= kMostX && what.blocks_y <= kMostY);
  if (device.is_cpu()) {
    ROFORMER_ASSERT(emulation() != nullptr);
    emulation()(what);
    return;
  }
  const c10::Device own(device.type(), device.has_index() ? device.index() : 0);
  const c10::DeviceGuard guard(own);
  start_kernel(function_of(what, own),
               {.blocks_x = what.blocks_x,
                .blocks_y = what.blocks_y,
                .threads = what.threads,
                .shared_bytes = what.shared_bytes},
               what.values.data(), own);
}

KernelEmulation::KernelEmulation(Emulate emulate) : scope_(emulation(), std::move(emulate)) {}

}  // namespace roformer::gpu
