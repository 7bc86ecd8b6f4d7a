// NVRTC, NVIDIA's compiler as a library, opened when a kernel is first needed.
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

// Why kernels cannot be compiled here, in words; empty where they can.
const std::string& reason_against_compiler();
// "13.0"; only where there is a compiler.
std::string compiler_version();

// The kernel of sources/SOURCE.cu for "sm_90"; throws Error with the compiler's words.
CompiledKernel compile_kernel(const std::string& source, const std::string& kernel,
                              const std::string& architecture);

// The same, kept in `folder` from one program to the next, by a name that holds the sources, the
// compiler and the kernel. A folder that cannot be written costs the time only.
CompiledKernel compiled_kernel(const std::string& source, const std::string& kernel,
                               const std::string& architecture,
                               const std::filesystem::path& folder);

// $XDG_CACHE_HOME/roformer/kernels or ~/.cache/roformer/kernels; empty without a home.
std::filesystem::path kernel_cache();

// The kernels' sources, as text within the program (CMakeLists.txt makes it from the files).

struct SourceFile {
  std::string_view name;  // as it is included: "tensor/kernels.h"
  std::string_view text;
};

// The sources and all that they include.
const std::vector<SourceFile>& source_files();

// The few functions of NVIDIA's driver that load and start a kernel, found in libcuda.so.1 when
// they are first needed. They act on the context and stream that LibTorch uses.

// Why there is no driver to call, in words; empty where there is.
const std::string& reason_against_driver();

// "NVIDIA H100 80GB HBM3" of each GPU, with or without a LibTorch for it; empty without a driver.
std::vector<std::string> card_names();

// What no other card in the world has, of the device; a part of a card has its own.
std::string card_identity(c10::Device device);

// 90 for the compute capability 9.0 of the device.
int compute_capability(c10::Device device);
// "sm_90" of the device.
std::string architecture_of(c10::Device device);

// A kernel in the device's memory; lives as long as the program.
using Function = void*;
Function load_kernel(const CompiledKernel& kernel, c10::Device device);
// From here on its launches may give a block so much, beside what it declares itself.
void allow_shared_memory(Function function, std::int64_t bytes);

struct Grid {
  std::int64_t blocks_x = 1;
  std::int64_t blocks_y = 1;
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;
};
// Behind what LibTorch's current stream of the device has to do. values: the kernel's arguments.
void start_kernel(Function function, const Grid& grid, const void* const* values,
                  c10::Device device);

}  // namespace roformer::gpu
