#include "tensor/gpu/driver.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <type_traits>

#include "base/error.h"

namespace roformer::gpu {
namespace {

// The driver's interface (cuda.h), whose header comes with a toolkit only.
using Result = int;  // 0: done
using Context = void*;
using Module = void*;
using StreamHandle = void*;

constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;
constexpr int kMostDynamicSharedBytes = 8;  // an attribute of functions

struct Driver {
  std::string reason;  // why there is none
  Result (*start)(unsigned flags) = nullptr;
  Result (*error_text)(Result, const char**) = nullptr;
  Result (*count)(int* devices) = nullptr;
  Result (*name)(char* text, int size, int device) = nullptr;
  Result (*identity)(void* sixteen_bytes, int device) = nullptr;
  Result (*attribute)(int* value, int attribute, int device) = nullptr;
  Result (*current_context)(Context*) = nullptr;
  Result (*set_context)(Context) = nullptr;
  Result (*primary_context)(Context*, int device) = nullptr;
  Result (*load_module)(Module*, const void* image) = nullptr;
  Result (*find_function)(Function*, Module, const char* symbol) = nullptr;
  Result (*set_attribute)(Function, int attribute, int value) = nullptr;
  Result (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned shared_bytes, StreamHandle, void** values, void** extra) = nullptr;
};

Driver open_driver() {
  Driver found;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    found.reason = std::string("NVIDIA's driver cannot be opened: ") + dlerror();
    return found;
  }
  const auto find = [&](auto& function, const char* name) {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr && found.reason.empty()) {
      found.reason = fmt::format("NVIDIA's driver has no {}", name);
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  find(found.start, "cuInit");
  find(found.error_text, "cuGetErrorString");
  find(found.count, "cuDeviceGetCount");
  find(found.name, "cuDeviceGetName");
  find(found.identity, "cuDeviceGetUuid_v2");
  find(found.attribute, "cuDeviceGetAttribute");
  find(found.current_context, "cuCtxGetCurrent");
  find(found.set_context, "cuCtxSetCurrent");
  find(found.primary_context, "cuDevicePrimaryCtxRetain");
  find(found.load_module, "cuModuleLoadData");
  find(found.find_function, "cuModuleGetFunction");
  find(found.set_attribute, "cuFuncSetAttribute");
  find(found.launch, "cuLaunchKernel");
  if (found.reason.empty() && found.start(0) != 0) found.reason = "NVIDIA's driver cannot start";
  return found;
}

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

void must(Result result, const char* what) {
  if (result == 0) return;
  const char* text = nullptr;
  driver().error_text(result, &text);
  throw_failure("GPU", fmt::format("{}: {}", what, text == nullptr ? "unknown error" : text));
}

// LibTorch works in each device's primary context, which a new thread does not have yet.
void enter_context(c10::Device device) {
  Context context = nullptr;
  must(driver().current_context(&context), "the current context");
  if (context != nullptr) return;
  must(driver().primary_context(&context, device.index()), "the device's context");
  must(driver().set_context(context), "entering the device's context");
}

}  // namespace

const std::string& reason_against_driver() {
  return driver().reason;
}

std::vector<std::string> card_names() {
  std::vector<std::string> names;
  int count = 0;
  if (!reason_against_driver().empty() || driver().count(&count) != 0) return names;
  for (int device = 0; device < count; ++device) {
    std::array<char, 128> name = {};
    must(driver().name(name.data(), static_cast<int>(name.size()), device), "the name of a GPU");
    names.emplace_back(name.data());
  }
  return names;
}

std::string card_identity(c10::Device device) {
  std::array<std::uint8_t, 16> bytes = {};
  must(driver().identity(bytes.data(), device.index()), "the identity of a GPU");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

int compute_capability(c10::Device device) {
  int major = 0, minor = 0;
  must(driver().attribute(&major, kComputeCapabilityMajor, device.index()), "compute capability");
  must(driver().attribute(&minor, kComputeCapabilityMinor, device.index()), "compute capability");
  return 10 * major + minor;
}

std::string architecture_of(c10::Device device) {
  return fmt::format("sm_{}", compute_capability(device));
}

Function load_kernel(const CompiledKernel& kernel, c10::Device device) {
  enter_context(device);
  Module module = nullptr;
  must(driver().load_module(&module, kernel.image.data()), "loading a kernel");
  Function function = nullptr;
  must(driver().find_function(&function, module, kernel.symbol.c_str()), kernel.symbol.c_str());
  return function;
}

void allow_shared_memory(Function function, std::int64_t bytes) {
  must(driver().set_attribute(function, kMostDynamicSharedBytes, static_cast<int>(bytes)),
       "shared memory of a kernel");
}

void start_kernel(Function function, const Grid& grid, const void* const* values,
                  c10::Device device) {
  enter_context(device);
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream stream = guard.getStream(device);
  must(driver().launch(function, static_cast<unsigned>(grid.blocks_x),
                       static_cast<unsigned>(grid.blocks_y), 1, static_cast<unsigned>(grid.threads),
                       1, 1, static_cast<unsigned>(grid.shared_bytes),
                       guard.getStreamNativeHandle(stream), const_cast<void**>(values), nullptr),
       "starting a kernel");
}

}  // namespace roformer::gpu
