#include "tensor/instruction_level.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace roformer::kernels {
namespace {

InstructionLevel processor_level() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return InstructionLevel::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return InstructionLevel::avx2;
#endif
  return InstructionLevel::baseline;
}

InstructionLevel allowed_level() {
  const char* const variable = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view word = variable == nullptr ? "" : variable;
  if (word == "default") return InstructionLevel::baseline;
  if (word == "avx2") return InstructionLevel::avx2;
  return InstructionLevel::avx512;
}

}  // namespace

InstructionLevel instruction_level() {
  static const InstructionLevel level = std::min(processor_level(), allowed_level());
  return level;
}

}  // namespace roformer::kernels
