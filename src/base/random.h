// Counter-based random numbers: every value is a pure function of its key, so any batch, mask or
// initial weight can be made separately, in any order, on any thread. The mixing function is the
// finaliser of SplitMix64 (Steele, Lea, Flood 2014), applied once per word of the key.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/error.h"

namespace roformer {

inline std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

// Combines several words into one key, for instance random_key({seed, epoch, index}).
inline std::uint64_t random_key(std::initializer_list<std::uint64_t> words) {
  std::uint64_t key = 0;
  for (const std::uint64_t word : words) key = mix(key ^ word);
  return key;
}

// Turns a name, for instance a parameter's, into a word for a key (FNV-1a).
inline std::uint64_t random_word(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// The stream of one key. Copies continue independently; the state is the key and a counter.
class Random {
 public:
  explicit Random(std::uint64_t key) : key_(key) {}

  std::uint64_t next() { return mix(key_ ^ mix(counter_++)); }
  // Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Uniform in 0 .. bound-1, bound > 0 (multiplication method, bias below 2^-32 for small bounds).
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Standard normal (Box-Muller, one of the pair).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586476925 * uniform());
  }
  // Normal cut at +-2 standard deviations by rejection, as BERT initialises its weights.
  double truncated_normal() {
    for (;;) {
      const double value = normal();
      if (std::abs(value) <= kTruncation) return value;
    }
  }
  static constexpr double kTruncation = 2;

  // Skips `count` numbers of next(); normal() takes kOfNormal of them.
  void skip(std::uint64_t count) { counter_ += count; }
  static constexpr std::uint64_t kOfNormal = 2;

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// A pseudo-random permutation of 0 .. size-1 that computes one element at a time, so a corpus of
// any size can be shuffled without a table (Feistel network of four rounds, cycle walking).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key)
      : size_(size),
        key_(key),
        half_bits_(((size <= 1 ? 1 : static_cast<int>(std::bit_width(size - 1))) + 1) / 2) {}
  std::uint64_t operator[](std::uint64_t index) const {
    ROFORMER_ASSERT(index < size_);
    const std::uint64_t half_mask = (std::uint64_t{1} << half_bits_) - 1;
    do {
      std::uint64_t left = index >> half_bits_, right = index & half_mask;
      for (std::uint64_t round = 0; round < 4; ++round) {
        const std::uint64_t mixed = left ^ (random_key({key_, round, right}) & half_mask);
        left = right;
        right = mixed;
      }
      index = (left << half_bits_) | right;
    } while (index >= size_);
    return index;
  }
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_;
  std::uint64_t key_;
  int half_bits_;
};

}  // namespace roformer
