#include "tensor/instruction_level.h"

#include <cstdlib>
#include <string>

#include "catch.h"
#include "tensor/eight_bit_kernels.h"
#include "tensor/kernels.h"

using namespace roformer;
using namespace roformer::kernels;

// CMakeLists.txt runs these tests once for each level below the machine's.
TEST_CASE("ATEN_CPU_CAPABILITY limits the level of all loops") {
  const char* const variable = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string word = variable == nullptr ? "" : variable;
  const std::string set = instruction_set();
  if (word == "default") {
    CHECK(instruction_level() == InstructionLevel::baseline);
    CHECK(set == "baseline");
    CHECK(eight_bit_kernels("avx2") == nullptr);
    CHECK(&eight_bit_kernels() == eight_bit_kernels("baseline"));
  } else if (word == "avx2") {
    CHECK(instruction_level() <= InstructionLevel::avx2);
    CHECK((set == "avx2" || set == "baseline"));
    CHECK(eight_bit_kernels("avx512_vnni") == nullptr);
  } else {
    CHECK((set == "baseline") == (instruction_level() == InstructionLevel::baseline));
    CHECK(set.starts_with("avx512") == (instruction_level() == InstructionLevel::avx512));
  }
}
