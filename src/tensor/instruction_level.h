// Which levels of x86-64's instructions the loops may use.
#pragma once

namespace roformer::kernels {

// The levels that CMakeLists.txt compiles the loops for: x86-64, x86-64-v3 and x86-64-v4.
enum class InstructionLevel { baseline, avx2, avx512 };

// The highest level that this processor has in full (a virtual machine may hide a part of one), or
// the one to which ATEN_CPU_CAPABILITY lowers it: `default`, `avx2` or `avx512`, the variable by
// which LibTorch lowers that of its own loops. Other words change nothing.
InstructionLevel instruction_level();

}  // namespace roformer::kernels
