// The parts of NumPy whose rounding and draws decide sacreBLEU's confidence intervals and p-values,
// which are equal to the last digit only if every step is the same. NumPy has no C++ interface to
// them, so they are our own.
#pragma once

#include <cstdint>
#include <vector>

namespace roformer {

// A number with NumPy's rules of precision (NEP 50, NumPy 2): float32 stays float32 against
// Python's own numbers. sacreBLEU's resampling sums its statistics in float32.
struct NumpyFloat {
  double value = 0;
  bool single = false;  // a float32: value is one exactly

  NumpyFloat() = default;
  NumpyFloat(double number, bool is_single = false)  // NOLINT: a Python number
      : value(is_single ? static_cast<float>(number) : number), single(is_single) {}
};

NumpyFloat operator+(NumpyFloat a, NumpyFloat b);
NumpyFloat operator-(NumpyFloat a, NumpyFloat b);
NumpyFloat operator*(NumpyFloat a, NumpyFloat b);
NumpyFloat operator/(NumpyFloat a, NumpyFloat b);

// np.array(scores): float32 only where all are; else every one becomes float64.
std::vector<NumpyFloat> numpy_array(std::vector<NumpyFloat> scores);

// Of an array as above, by pairwise summation; at least one value.
NumpyFloat numpy_mean(const std::vector<NumpyFloat>& array);

// numpy.random.default_rng(seed) as far as the significance tests draw from it: SeedSequence, PCG64
// (O'Neill's XSL RR 128/64), integers below a bound by Lemire's method, and booleans.
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
