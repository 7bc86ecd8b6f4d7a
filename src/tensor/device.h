// Where and how a model computes: device, threads and precision, resolved for this machine.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "config/device_settings.h"

namespace roformer {

struct ComputePlan {
  c10::Device device = c10::kCPU;
  Precision precision = Precision::fp32;  // fp32 or bf16
  std::string reason;                     // why this precision, in words
};

// Sets LibTorch's threads (0: all cores) and flushes denormals. Call once, before any tensor work.
void prepare_threads(std::int64_t threads);

// Throws Error (usage) for a device that is not there. `automatic` precision is bf16 where the
// device multiplies bf16 matrices faster than fp32 ones: GPUs, and CPUs with avx512_bf16 or AMX.
ComputePlan plan_compute(DeviceKind device, Precision precision);

// Whether this processor has hardware bf16 matrix products (avx512_bf16 or AMX).
struct Bf16Support {
  bool avx512_bf16 = false;
  bool amx = false;
};
Bf16Support bf16_support();

// "Intel(R) Xeon(R) ..."; "unknown" where the system does not tell.
std::string processor_name();
// Whether the system lists an instruction set ("avx2", "amx_bf16") among the processor's.
bool processor_has(const std::string& flag);

}  // namespace roformer
