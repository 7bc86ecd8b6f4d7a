// NVRTC, NVIDIA's compiler as a library, opened when a kernel is first needed.
#pragma once

#include <filesystem>
#include <string>

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

}  // namespace roformer::gpu
