#include "tensor/eight_bit_kernels.h"

#include <algorithm>

#include "tensor/device.h"
#include "tensor/few_row_kernels.h"
#include "tensor/instruction_level.h"

namespace roformer::kernels {

// Each is compiled from cpu/eight_bit_loops.h and cpu/few_row_loops.h for its instruction set.
namespace eight_bit_baseline {
extern const EightBitKernels kEightBit;
extern const MultiplyFewRows kFewRows;
}  // namespace eight_bit_baseline
#if defined(__x86_64__)
namespace eight_bit_avx2 {
extern const EightBitKernels kEightBit;
extern const MultiplyFewRows kFewRows;
}  // namespace eight_bit_avx2
namespace eight_bit_avx_vnni {
extern const EightBitKernels kEightBit;
extern const MultiplyFewRows kFewRows;
}  // namespace eight_bit_avx_vnni
namespace eight_bit_avx512_vnni {
extern const EightBitKernels kEightBit;
extern const MultiplyFewRows kFewRows;
}  // namespace eight_bit_avx512_vnni
#endif

namespace {

struct EightBitSet {
  std::string_view instruction_set;
  const EightBitKernels* kernels;
  const MultiplyFewRows* few_rows;
  bool (*available)();
};

// The best first.
constexpr EightBitSet kEightBitSets[] = {
#if defined(__x86_64__)
    {"avx512_vnni", &eight_bit_avx512_vnni::kEightBit, &eight_bit_avx512_vnni::kFewRows,
     [] {
       return instruction_level() >= InstructionLevel::avx512 &&
              __builtin_cpu_supports("avx512vnni");
     }},
    {"avx_vnni", &eight_bit_avx_vnni::kEightBit, &eight_bit_avx_vnni::kFewRows,
     [] { return instruction_level() >= InstructionLevel::avx2 && processor_has("avx_vnni"); }},
    {"avx2", &eight_bit_avx2::kEightBit, &eight_bit_avx2::kFewRows,
     [] { return instruction_level() >= InstructionLevel::avx2; }},
#endif
    {"baseline", &eight_bit_baseline::kEightBit, &eight_bit_baseline::kFewRows,
     [] { return true; }},
};

// The set of this name, or null if this processor does not have it.
const EightBitSet* set_named(std::string_view instruction_set) {
  for (const EightBitSet& named : kEightBitSets) {
    if (named.instruction_set == instruction_set) return named.available() ? &named : nullptr;
  }
  return nullptr;
}

const EightBitSet& best_set() {
  static const EightBitSet& best = *std::ranges::find_if(
      kEightBitSets, [](const EightBitSet& named) { return named.available(); });
  return best;
}

}  // namespace

const EightBitKernels* eight_bit_kernels(std::string_view instruction_set) {
  const EightBitSet* const named = set_named(instruction_set);
  return named == nullptr ? nullptr : named->kernels;
}

const EightBitKernels& eight_bit_kernels() {
  return *best_set().kernels;
}

MultiplyFewRows few_row_kernel(std::string_view instruction_set) {
  const EightBitSet* const named = set_named(instruction_set);
  return named == nullptr ? nullptr : *named->few_rows;
}

MultiplyFewRows few_row_kernel() {
  return *best_set().few_rows;
}

}  // namespace roformer::kernels
