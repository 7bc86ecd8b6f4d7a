// Launches our kernels on a GPU. The program contains their CUDA C++ sources as text (sources/);
// NVRTC, which comes with LibTorch's GPU half, compiles each on first use, and the result is cached
// on disk. No toolkit is needed. If something is missing, operations are composed of LibTorch's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/scoped.h"

namespace roformer::gpu {

// One kernel on a grid of blocks. Its name is an expression of the namespace kernels::device:
// "rotate<float, 4, false>".
struct Launch {
  const char* source = "";  // "rotate": sources/rotate.cu
  std::string kernel;
  std::int64_t blocks_x = 1;
  std::int64_t blocks_y = 1;
  std::int64_t threads = 256;       // of a block
  std::int64_t shared_bytes = 0;    // dynamic shared memory of a block
  std::vector<const void*> values;  // of the kernel's parameters, in their order
};

// Queues it after the device's other work; `device` is a GPU, or a CPU with an emulation.
void launch(const Launch& what, at::Device device);

// The largest shared memory that every card from compute capability 8.0 on gives a block on request
// (8.6, 8.9, 12).
inline constexpr std::int64_t kLeastSharedMemory = 99 << 10;
// The shared memory that a block can always have on this device.
std::int64_t certain_shared_memory(at::Device device);

// Whether our kernels run on the tensor's device; the reason if not, for a person.
bool runs_kernels(const at::Tensor& x);
const std::string& reason_against_kernels();

// While it lives, `emulate` runs the kernels on CPU tensors. Tests use it; they compile the same
// sources for the CPU.
class KernelEmulation {
 public:
  using Emulate = std::function<void(const Launch&)>;
  explicit KernelEmulation(Emulate emulate);

 private:
  Scoped<Emulate> scope_;
};

}  // namespace roformer::gpu
