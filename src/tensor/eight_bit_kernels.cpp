#include "tensor/eight_bit_kernels.h"

#include "tensor/device.h"

namespace roformer::kernels {

// Each is compiled from cpu/eight_bit_loops.h for its instruction set.
namespace eight_bit_baseline {
extern const EightBitKernels kEightBit;
}
#if defined(__x86_64__)
namespace eight_bit_avx2 {
extern const EightBitKernels kEightBit;
}
namespace eight_bit_avx_vnni {
extern const EightBitKernels kEightBit;
}
namespace eight_bit_avx512_vnni {
extern const EightBitKernels kEightBit;
}
#endif

namespace {

struct EightBitSet {
  std::string_view instruction_set;
  const EightBitKernels* kernels;
  bool (*available)();
};

// The best first.
constexpr EightBitSet kEightBitSets[] = {
#if defined(__x86_64__)
    {"avx512_vnni", &eight_bit_avx512_vnni::kEightBit,
     [] { return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni"); }},
    {"avx_vnni", &eight_bit_avx_vnni::kEightBit,
     [] { return __builtin_cpu_supports("x86-64-v3") && processor_has("avx_vnni"); }},
    {"avx2", &eight_bit_avx2::kEightBit,
     [] { return static_cast<bool>(__builtin_cpu_supports("x86-64-v3")); }},
#endif
    {"baseline", &eight_bit_baseline::kEightBit, [] { return true; }},
};

}  // namespace

const EightBitKernels* eight_bit_kernels(std::string_view instruction_set) {
  for (const EightBitSet& named : kEightBitSets) {
    if (named.instruction_set == instruction_set)
      return named.available() ? named.kernels : nullptr;
  }
  return nullptr;
}

const EightBitKernels& eight_bit_kernels() {
  static const EightBitKernels& best = []() -> const EightBitKernels& {
    for (const EightBitSet& named : kEightBitSets) {
      if (named.available()) return *named.kernels;
    }
    return eight_bit_baseline::kEightBit;
  }();
  return best;
}

}  // namespace roformer::kernels
