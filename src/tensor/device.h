// Where and how a model computes: device, threads and precision, resolved for this machine.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "config/training_settings.h"

namespace roformer {

struct ComputePlan {
  c10::Device device = c10::kCPU;
  Precision precision = Precision::fp32;  // fp32 or bf16
  std::string reason;                     // why this precision, in words
};

// Sets LibTorch's threads (0: all cores) and flushes denormals. Call once, before any tensor work.
void prepare_threads(std::int64_t threads);

// Throws Error (usage) for a device that is not there. `automatic` precision is bf16 if a model of
// that width trains faster with it: on GPUs, on CPUs with AMX, and with avx512_bf16 from
// kWidthForBf16 on (its products are only twice as fast, so the casts cost a narrow model all that
// it saves), unless a virtual machine hides the AMX of an Intel processor.
ComputePlan plan_compute(DeviceKind device, Precision precision, std::int64_t width);
// On a Zen 4 a step in bf16 takes 0.70 times as long as in fp32 at this width (masked language
// model; translator 0.65, fine-tuning 0.74) and 0.93 times at a width of 64.
inline constexpr std::int64_t kWidthForBf16 = 128;

// The GPU for the process of that number on this machine, which becomes this thread's default.
c10::Device take_gpu(std::int64_t number);

// Makes every operation on a GPU give the same bits each time; one that cannot then throws. Call
// before any work on the GPU.
void make_gpu_deterministic();

// Whether this processor has hardware bf16 matrix products (avx512_bf16 or AMX).
struct Bf16Support {
  bool avx512_bf16 = false;
  bool amx = false;
};
Bf16Support bf16_support();

// "cpu", or the name of the card ("NVIDIA H100 80GB HBM3").
std::string device_name(c10::Device device);

// "AMD EPYC (family 25, model 17)": virtual machines give many processors one name. "unknown" if
// the system does not tell.
std::string processor_name();
// Whether the system lists an instruction set ("avx2", "amx_bf16") among the processor's.
bool processor_has(const std::string& flag);

// LibTorch's GPU half is opened at run time: one binary serves machines with and without a GPU, and
// a start without one does not load libraries of a gigabyte.
struct GpuSupport {
  bool usable = false;  // LibTorch sees at least one GPU
  std::string reason;   // why not; empty if usable
};

// Opens libtorch_cuda.so once, if the machine has an NVIDIA driver. Safe to call from several
// threads. Call it before anything else asks LibTorch about GPUs.
const GpuSupport& gpu_support();

// The most memory of this process's GPU that tensors have taken at a time, in bytes; 0 without use.
std::uint64_t peak_gpu_memory();

// Memory of that GPU that no process uses, in bytes.
std::uint64_t free_gpu_memory();

// The result of gpu_support() with and without a driver: for tests.
GpuSupport open_gpu_libraries(bool has_driver);

}  // namespace roformer
