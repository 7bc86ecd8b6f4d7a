#include "tensor/kernels.h"

#include "tensor/attention_kernels.h"
#include "tensor/instruction_level.h"

namespace roformer::kernels {

// Each is compiled from cpu/tables.h for its instruction set.
namespace baseline {
KernelSet make_kernels();
}
#if defined(__x86_64__)
namespace avx2 {
KernelSet make_kernels();
}
namespace avx512 {
KernelSet make_kernels();
}
namespace avx512_bf16 {
KernelSet make_kernels();
}
#endif

namespace {

struct NamedKernels {
  KernelSet kernels;
  const char* instruction_set;
};

NamedKernels best_kernels() {
#if defined(__x86_64__)
  const InstructionLevel level = instruction_level();
  if (level == InstructionLevel::avx512) {
    if (__builtin_cpu_supports("avx512bf16")) return {avx512_bf16::make_kernels(), "avx512_bf16"};
    return {avx512::make_kernels(), "avx512"};
  }
  if (level == InstructionLevel::avx2) return {avx2::make_kernels(), "avx2"};
#endif
  return {baseline::make_kernels(), "baseline"};
}

const NamedKernels& chosen() {
  static const NamedKernels kernels = best_kernels();
  return kernels;
}

}  // namespace

const KernelSet& kernel_set() {
  return chosen().kernels;
}

const char* instruction_set() {
  return chosen().instruction_set;
}

template <typename T>
const KernelTable<T>& table() {
  return kernel_set();
}
template const KernelTable<float>& table<float>();
template const KernelTable<double>& table<double>();
template const KernelTable<c10::BFloat16>& table<c10::BFloat16>();

}  // namespace roformer::kernels
