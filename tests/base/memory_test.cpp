#include "base/memory.h"

#include <new>
#include <stdexcept>
#include <vector>

#include "catch.h"

using namespace roformer;

TEST_CASE("a lack of memory is told from other errors, with what was asked for") {
  CHECK(lack_of_memory(std::bad_alloc()) == "not enough memory");
  CHECK(lack_of_memory(std::runtime_error(
            "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate "
            "memory: you tried to allocate 4294967296 bytes. Error code 12\nframe #0: ...")) ==
        "not enough memory for another 4.0 GiB");
  CHECK(
      lack_of_memory(std::runtime_error("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0")) ==
      "not enough memory for another 2.5 GiB");
  CHECK_FALSE(lack_of_memory(std::runtime_error("shapes differ")));
}

TEST_CASE("the memory that is left is known") {
  CHECK(available_memory() > 1 << 20);
}

TEST_CASE("the peak of memory has what was held once") {
  constexpr std::size_t kBytes = 64 << 20;
  const std::uint64_t before = peak_memory();
  { const std::vector<char> held(kBytes, 'x'); }
  CHECK(before > 0);
  CHECK(peak_memory() >= kBytes);
}
