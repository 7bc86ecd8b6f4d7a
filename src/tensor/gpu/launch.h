// Kernels of our own on a GPU: CUDA C++ sources that the program carries as text (sources/),
// compiled when they are first needed by NVRTC, which LibTorch's GPU half brings along, and kept on
// disk. No toolkit is needed to build or to run. Where something of it is missing, the operations
// are composed of LibTorch's instead (composed.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace roformer::gpu {

// One kernel on a grid of blocks. Its name is an expression of the namespace kernels::device:
// "rotate<float, 4, false>".
struct Launch {
  const char* source = "";  // "rotate": sources/rotate.cu
  std::string kernel;
  std::int64_t blocks_x = 1;
  std::int64_t blocks_y = 1;
  std::int64_t threads = 256;       // of a block
  std::int64_t shared_bytes = 0;    // of a block, beside what the kernel declares itself
  std::vector<const void*> values;  // of the kernel's parameters, in their order
};

// Puts it behind the device's other work; `device` is a GPU, or a CPU with an emulation.
void launch(const Launch& what, at::Device device);

// What the least card from compute capability 8.0 on gives a block that asks for it (8.6, 8.9, 12).
inline constexpr std::int64_t kLeastSharedMemory = 99 << 10;
// What a block can have for certain: that, or what older cards give without being asked.
std::int64_t certain_shared_memory(at::Device device);

// Whether kernels of our own run on the tensor's device; if not, why, in words, for a person.
bool runs_kernels(const at::Tensor& x);
const std::string& reason_against_kernels();

// As long as it lives, kernels are run on CPU tensors, and by `emulate`: for tests, which compile
// the same sources for the CPU.
class KernelEmulation {
 public:
  using Emulate = std::function<void(const Launch&)>;
  explicit KernelEmulation(Emulate emulate);
  ~KernelEmulation();
  KernelEmulation(const KernelEmulation&) = delete;
  KernelEmulation& operator=(const KernelEmulation&) = delete;

 private:
  Emulate before_;
};

}  // namespace roformer::gpu
