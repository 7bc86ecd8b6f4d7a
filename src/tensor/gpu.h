// LibTorch's GPU half, opened when the program runs: one binary serves machines with and without a
// GPU, and a start without one pays nothing for libraries of a gigabyte.
#pragma once

#include <cstdint>
#include <string>

namespace roformer {

struct GpuSupport {
  bool usable = false;  // LibTorch sees at least one GPU
  std::string reason;   // why not, in words; empty where it does
};

// Opens libtorch_cuda.so beside LibTorch's CPU library, once, where the machine has an NVIDIA
// driver. Safe to call from several threads; to be called before anything else that asks LibTorch
// about GPUs.
const GpuSupport& gpu_support();

// The most memory that tensors have taken at a time of the GPU that this process has, in bytes; 0
// where none was used.
std::uint64_t peak_gpu_memory();

// Memory of that GPU that no process has taken, in bytes.
std::uint64_t free_gpu_memory();

// What gpu_support() finds with and without a driver: for tests.
GpuSupport open_gpu_libraries(bool has_driver);

}  // namespace roformer
