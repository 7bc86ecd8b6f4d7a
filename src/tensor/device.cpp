#include "tensor/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "base/error.h"

namespace roformer {

bool processor_has(const std::string& flag) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    return (line + " ").find(" " + flag + " ") != std::string::npos;
  }
  return false;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

void prepare_threads(std::int64_t threads) {
  const auto all = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(threads > 0 ? threads : std::max<std::int64_t>(1, all)));
  // Sharp distributions make many numbers too small for the normal form, which a processor handles
  // many times slower. The setting is a thread's own: each worker gets one turn of a loop.
  at::globalContext().setFlushDenormal(true);
  at::parallel_for(0, at::get_num_threads(), 1,
                   [](std::int64_t, std::int64_t) { at::globalContext().setFlushDenormal(true); });
}

Bf16Support bf16_support() {
  return {.avx512_bf16 = processor_has("avx512_bf16"), .amx = processor_has("amx_bf16")};
}

ComputePlan plan_compute(DeviceKind device, Precision precision) {
  const bool has_cuda = at::globalContext().hasCUDA();
  if (device == DeviceKind::cuda && !has_cuda) {
    throw_usage(
        "device", "cuda is asked for, but LibTorch sees no GPU here",
        "use --device cpu, or a LibTorch with its CUDA libraries; `roformer doctor` shows both");
  }
  ComputePlan plan;
  const bool on_gpu = device == DeviceKind::cuda || (device == DeviceKind::automatic && has_cuda);
  if (on_gpu) plan.device = c10::Device(c10::kCUDA, 0);
  if (precision != Precision::automatic) {
    plan.precision = precision;
    plan.reason = "asked for";
  } else if (on_gpu) {
    plan.precision = Precision::bf16;
    plan.reason = "a GPU multiplies bf16 matrices much faster";
  } else if (const Bf16Support support = bf16_support(); support.amx || support.avx512_bf16) {
    plan.precision = Precision::bf16;
    plan.reason = support.amx ? "this processor has AMX tiles for bf16"
                              : "this processor multiplies bf16 in hardware (avx512_bf16)";
  } else {
    plan.reason = "this processor has neither avx512_bf16 nor AMX: bf16 would be slower than fp32";
  }
  return plan;
}

}  // namespace roformer
