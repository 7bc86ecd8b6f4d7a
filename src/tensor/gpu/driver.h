// NVIDIA's compiler (NVRTC) and driver, both opened when first needed. The driver acts on the
// context and stream that LibTorch uses.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace roformer::gpu {

struct CompiledKernel {
  std::string image;   // machine code of the architecture (a cubin)
  std::string symbol;  // the kernel's mangled name in it
};

// Why kernels cannot be compiled here; empty if they can.
const std::string& reason_against_compiler();
// "13.0"; requires a compiler.
std::string compiler_version();

// The kernel of sources/SOURCE.cu for "sm_90". Throws Error with the compiler's messages.
CompiledKernel compile_kernel(const std::string& source, const std::string& kernel,
                              const std::string& architecture);

// The same, cached in `folder` under a hash of the sources, the compiler and the kernel. Without
// write access to the folder, kernels are compiled each time.
CompiledKernel compiled_kernel(const std::string& source, const std::string& kernel,
                               const std::string& architecture,
                               const std::filesystem::path& folder);

// $XDG_CACHE_HOME/roformer/kernels or ~/.cache/roformer/kernels; empty without a home.
std::filesystem::path kernel_cache();

// The kernels' sources as text in the program (CMakeLists.txt generates it).
struct SourceFile {
  std::string_view name;  // as it is included: "tensor/kernels.h"
  std::string_view text;
};

// The sources and all files that they include.
const std::vector<SourceFile>& source_files();

// Why there is no driver; empty if there is one.
const std::string& reason_against_driver();

// "NVIDIA H100 80GB HBM3" for each GPU, even if LibTorch cannot use it; empty without a driver.
std::vector<std::string> card_names();

// The device's unique identifier; a part of a card (MIG) has its own.
std::string card_identity(c10::Device device);

// 90 for the compute capability 9.0 of the device.
int compute_capability(c10::Device device);
// "sm_90" of the device.
std::string architecture_of(c10::Device device);

// A kernel in the device's memory; lives as long as the program.
using Function = void*;
Function load_kernel(const CompiledKernel& kernel, c10::Device device);
// Allows this much dynamic shared memory per block for the function's launches.
void allow_shared_memory(Function function, std::int64_t bytes);

struct Grid {
  std::int64_t blocks_x = 1;
  std::int64_t blocks_y = 1;
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;
};
// Queues the kernel on LibTorch's current stream of the device. values: the kernel's arguments.
void start_kernel(Function function, const Grid& grid, const void* const* values,
                  c10::Device device);

}  // namespace roformer::gpu
