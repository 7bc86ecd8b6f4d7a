#include "tensor/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "tensor/gpu/driver.h"

// MKL calls this function before it chooses kernels. Its own version chooses the narrowest AVX2
// kernels on other makers' processors. This definition replaces it; MKL still checks the
// instruction sets. On a Zen 4, products of 2048^3 in fp32 went from 83 to 110 GFLOP/s per core.
extern "C" __attribute__((visibility("default"))) int mkl_serv_intel_cpu_true() {
  return 1;
}

// MKL's way to choose reproducible kernels (its mkl_cbwr_set); not every build has it.
extern "C" [[gnu::weak]] int mkl_serv_cbwr_set(int settings);

namespace roformer {
namespace {

// MKL's AVX2 kernels for fp32 give a product other last bits in one thread of several than in the
// only one; those for AVX-512 do not. Strict kernels agree, at no cost that we could measure
// (`bench mlm`, small, Zen 3). Must be chosen before MKL's first product. MKL_CBWR in the
// environment wins.
[[maybe_unused]] const bool mkl_is_strict = [] {
#if defined(__x86_64__)
  constexpr int kAutomatic = 2, kStrict = 0x10000;  // of mkl_types.h
  __builtin_cpu_init();
  const bool avx2_only =
      __builtin_cpu_supports("x86-64-v3") && !__builtin_cpu_supports("x86-64-v4");
  if (!avx2_only || &mkl_serv_cbwr_set == nullptr || std::getenv("MKL_CBWR") != nullptr)
    return false;
  return mkl_serv_cbwr_set(kAutomatic | kStrict) == 0;
#else
  return false;
#endif
}();

}  // namespace

bool processor_has(const std::string& flag) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    return (line + " ").find(" " + flag + " ") != std::string::npos;
  }
  return false;
}

std::string device_name(c10::Device device) {
  if (device.is_cpu()) return "cpu";
  const std::vector<std::string> cards = gpu::card_names();
  const auto index = static_cast<std::size_t>(device.has_index() ? device.index() : 0);
  return index < cards.size() ? cards[index] : device.str();
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::map<std::string, std::string> facts;  // of the first processor
  for (std::string line; std::getline(info, line) && !line.empty();) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    facts[line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1)] = line.substr(colon + 2);
  }
  const std::string name = facts.contains("model name") ? facts["model name"] : "unknown";
  if (!facts.contains("cpu family") || !facts.contains("model")) return name;
  return name + " (family " + facts["cpu family"] + ", model " + facts["model"] + ")";
}

void prepare_threads(std::int64_t threads) {
  at::set_num_threads(static_cast<int>(threads > 0 ? threads : usable_threads()));
  // Sharp distributions produce many denormal numbers, which processors handle many times more
  // slowly. The setting belongs to a thread, so each worker sets it in a loop.
  at::globalContext().setFlushDenormal(true);
  at::parallel_for(0, at::get_num_threads(), 1,
                   [](std::int64_t, std::int64_t) { at::globalContext().setFlushDenormal(true); });
}

c10::Device take_gpu(std::int64_t number) {
  const auto gpus = static_cast<std::int64_t>(at::getNumGPUs());
  ROFORMER_ASSERT(gpus > 0);
  const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(number % gpus));
  c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(device);
  return device;
}

void make_gpu_deterministic() {
  // cuBLAS requires this for deterministic results; it reads it before its first product.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  // Otherwise LibTorch fills every new tensor first, which costs time and changes no result.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

Bf16Support bf16_support() {
  return {.avx512_bf16 = processor_has("avx512_bf16"), .amx = processor_has("amx_bf16")};
}

namespace {

// Intel's processors that have AMX (since Sapphire Rapids, as avx512_fp16) multiply bf16 pairs
// outside of it at half the rate of fp32: on an Emerald Rapids whose virtual machine hides AMX, a
// product of 2048^3 reaches 80 GFLOP/s in bf16 and 151 in fp32, by oneDNN and by MKL alike.
bool hides_amx() {
  return __builtin_cpu_is("intel") && processor_has("avx512_fp16") && !processor_has("amx_bf16");
}

}  // namespace

ComputePlan plan_compute(DeviceKind device, Precision precision, std::int64_t width) {
  const bool on_gpu = device != DeviceKind::cpu && gpu_support().usable;
  if (device == DeviceKind::cuda && !on_gpu) {
    throw_usage("device", "cuda was requested, but " + gpu_support().reason,
                "compute on the CPU, or install torch with all its dependencies");
  }
  ComputePlan plan;
  if (on_gpu) plan.device = c10::Device(c10::kCUDA, 0);
  if (precision != Precision::automatic) {
    plan.precision = precision;
    plan.reason = "asked for";
  } else if (on_gpu) {
    plan.precision = Precision::bf16;
    plan.reason = "a GPU multiplies bf16 matrices much faster";
  } else if (const Bf16Support support = bf16_support(); support.amx) {
    plan.precision = Precision::bf16;
    plan.reason = "this processor has AMX tiles for bf16";
  } else if (support.avx512_bf16 && hides_amx()) {
    plan.reason = "this machine hides its processor's AMX, and without it bf16 is slower than fp32";
  } else if (support.avx512_bf16) {
    const bool wide = width >= kWidthForBf16;
    if (wide) plan.precision = Precision::bf16;
    plan.reason = fmt::format("with avx512_bf16 bf16 is faster {} a width of {}",
                              wide ? "from" : "only from", kWidthForBf16);
  } else {
    plan.reason = "this processor has neither avx512_bf16 nor AMX: bf16 would be slower than fp32";
  }
  return plan;
}

namespace {

// Whether LibTorch's GPU half is linked or was opened. LibTorch itself must not be asked earlier:
// it remembers the first answer whether there is a GPU.
bool is_open() {
  return at::CUDAHooksRegistry()->Has("CUDAHooks");
}

}  // namespace

GpuSupport open_gpu_libraries(bool has_driver) {
  if (!is_open() && !has_driver) return {.reason = "no NVIDIA driver on this machine"};
  // The program's search path contains LibTorch's folder. The library's initialisers register the
  // GPU with LibTorch.
  if (!is_open() && dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return {.reason = std::string("LibTorch's GPU libraries cannot be opened: ") + dlerror()};
  }
  if (!at::globalContext().hasCUDA()) return {.reason = "LibTorch sees no GPU"};
  // cuDNN plans again for every length and number of sequences, which differ from batch to batch
  // here. packed_attention() uses it if they do not.
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
