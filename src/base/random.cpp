#include "base/random.h"

#include <bit>

#include "base/error.h"

namespace roformer {

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size), key_(key) {
  const int bits = size <= 1 ? 1 : std::bit_width(size - 1);
  half_bits_ = (bits + 1) / 2;
}

std::uint64_t Permutation::operator[](std::uint64_t index) const {
  ROFORMER_ASSERT(index < size_);
  const std::uint64_t half_mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & half_mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (random_key({key_, round, right}) & half_mask);
      left = right;
      right = mixed;
    }
    index = (left << half_bits_) | right;
  } while (index >= size_);
  return index;
}

}  // namespace roformer
