// numpy.random.default_rng(seed) as far as the significance tests draw from it: SeedSequence,
// PCG64 (O'Neill's XSL RR 128/64), integers below a bound by Lemire's method, and booleans.
#pragma once

#include <cstdint>

namespace roformer {

class NumpyGenerator {
 public:
  explicit NumpyGenerator(std::uint64_t seed);

  std::uint64_t next_64();
  std::uint32_t next_32();  // a half of a 64-bit draw, the low one first

  // integers(0, bound) for 1 <= bound < 2^32; draws nothing where the bound leaves no choice.
  std::uint32_t below(std::uint32_t bound);
  // One element of integers(2, dtype=bool): the bits of 32-bit draws, the lowest first.
  bool next_bool();

 private:
  unsigned __int128 state_ = 0;
  unsigned __int128 increment_ = 0;
  std::uint32_t half_ = 0;
  bool has_half_ = false;
  std::uint32_t bits_ = 0;
  int bits_left_ = 0;

  void step();
};

}  // namespace roformer
