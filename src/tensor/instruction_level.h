// Which levels of x86-64's instructions the loops may use.
#pragma once

namespace roformer::kernels {

// The levels that CMakeLists.txt compiles the loops for: x86-64, x86-64-v3 and x86-64-v4.
enum class InstructionLevel { baseline, avx2, avx512 };

// The highest level of which this processor has every instruction (a virtual machine may hide some).
// ATEN_CPU_CAPABILITY, which limits LibTorch's loops, limits this too: `default` to the baseline,
// `avx2` to avx2. Other values are ignored.
InstructionLevel instruction_level();

}  // namespace roformer::kernels
