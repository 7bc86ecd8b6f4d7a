// Runs the sources of GPU kernels on the CPU: compiled as C++, with the threads of a block as
// fibers that take turns at its barriers. It shows what a kernel computes, not how fast, nor what
// only a race between threads would.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/gpu/launch.h"

namespace roformer {

// For gpu::KernelEmulation. A kernel that is not among those of gpu_emulation.cpp fails the test.
void emulate_kernel(const gpu::Launch& what);

// Source and name of every kernel that it has.
std::vector<std::pair<std::string, std::string>> emulated_kernels();

}  // namespace roformer
