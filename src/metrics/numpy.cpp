#include "metrics/numpy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <span>

namespace roformer {
namespace {

template <typename Operation>
NumpyFloat computed(NumpyFloat a, NumpyFloat b, Operation operation) {
  if (!a.single && !b.single) return operation(a.value, b.value);
  return {operation(static_cast<float>(a.value), static_cast<float>(b.value)), true};
}

}  // namespace

NumpyFloat operator+(NumpyFloat a, NumpyFloat b) {
  return computed(a, b, std::plus<>());
}
NumpyFloat operator-(NumpyFloat a, NumpyFloat b) {
  return computed(a, b, std::minus<>());
}
NumpyFloat operator*(NumpyFloat a, NumpyFloat b) {
  return computed(a, b, std::multiplies<>());
}
NumpyFloat operator/(NumpyFloat a, NumpyFloat b) {
  return computed(a, b, std::divides<>());
}

namespace {

constexpr std::size_t kBlock = 128;
constexpr std::size_t kLanes = 8;

// numpy/_core/src/umath/loops_utils.h: pairwise_sum
template <typename Number>
Number pairwise_sum(std::span<const Number> values) {
  if (values.size() < kLanes) {
    Number sum = -0.;
    for (const Number value : values) sum += value;
    return sum;
  }
  if (values.size() <= kBlock) {
    std::array<Number, kLanes> sums;
    std::copy_n(values.begin(), kLanes, sums.begin());
    std::size_t i = kLanes;
    for (; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
    }
    Number sum =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < values.size(); ++i) sum += values[i];
    return sum;
  }
  std::size_t half = values.size() / 2;
  half -= half % kLanes;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

template <typename Number>
Number mean_of(const std::vector<NumpyFloat>& array) {
  std::vector<Number> values;
  values.reserve(array.size());
  for (const NumpyFloat& element : array) values.push_back(static_cast<Number>(element.value));
  return pairwise_sum(std::span<const Number>(values)) / static_cast<Number>(values.size());
}

}  // namespace

std::vector<NumpyFloat> numpy_array(std::vector<NumpyFloat> scores) {
  const bool single = std::ranges::all_of(scores, &NumpyFloat::single);
  for (NumpyFloat& score : scores) score.single = single;
  return scores;
}

NumpyFloat numpy_mean(const std::vector<NumpyFloat>& array) {
  if (array.front().single) return {mean_of<float>(array), true};
  return mean_of<double>(array);
}

namespace {

constexpr unsigned __int128 kMultiplier =
    static_cast<unsigned __int128>(2549297995355413924ULL) << 64 | 4865540595714422341ULL;

// M. E. O'Neill's seed_seq as numpy.random.SeedSequence has it: a pool of four words.
class SeedSequence {
 public:
  explicit SeedSequence(std::uint64_t seed) {
    const std::array<std::uint32_t, 2> entropy = {static_cast<std::uint32_t>(seed),
                                                  static_cast<std::uint32_t>(seed >> 32)};
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      pool_[i] = hash(i < entropy.size() ? entropy[i] : 0);
    }
    for (std::size_t source = 0; source < pool_.size(); ++source) {
      for (std::size_t target = 0; target < pool_.size(); ++target) {
        if (source != target) pool_[target] = mix(pool_[target], hash(pool_[source]));
      }
    }
  }

  // generate_state(4, uint64)
  std::array<std::uint64_t, 4> state() const {
    std::array<std::uint64_t, 4> words{};
    std::uint32_t constant = 0x8B51F9DD;
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t word = pool_[i % pool_.size()] ^ constant;
      constant *= 0x58F38DED;
      word *= constant;
      word ^= word >> 16;
      words[i / 2] |= std::uint64_t{word} << (32 * (i % 2));
    }
    return words;
  }

 private:
  std::array<std::uint32_t, 4> pool_{};
  std::uint32_t constant_ = 0x43B0D7E5;

  std::uint32_t hash(std::uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931E8875;
    value *= constant_;
    return value ^ value >> 16;
  }

  static std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
    const std::uint32_t result = 0xCA01F9DD * x - 0x4973F715 * y;
    return result ^ result >> 16;
  }
};

}  // namespace

NumpyGenerator::NumpyGenerator(std::uint64_t seed) {
  const auto words = SeedSequence(seed).state();
  const unsigned __int128 start = static_cast<unsigned __int128>(words[0]) << 64 | words[1];
  const unsigned __int128 sequence = static_cast<unsigned __int128>(words[2]) << 64 | words[3];
  increment_ = sequence << 1 | 1;
  step();
  state_ += start;
  step();
}

void NumpyGenerator::step() {
  state_ = state_ * kMultiplier + increment_;
}

std::uint64_t NumpyGenerator::next_64() {
  step();
  const auto high = static_cast<std::uint64_t>(state_ >> 64);
  return std::rotr(high ^ static_cast<std::uint64_t>(state_), static_cast<int>(high >> 58));
}

std::uint32_t NumpyGenerator::next_32() {
  if (has_half_) {
    has_half_ = false;
    return half_;
  }
  const std::uint64_t drawn = next_64();
  has_half_ = true;
  half_ = static_cast<std::uint32_t>(drawn >> 32);
  return static_cast<std::uint32_t>(drawn);
}

std::uint32_t NumpyGenerator::below(std::uint32_t bound) {
  if (bound == 1) return 0;
  std::uint64_t product = std::uint64_t{next_32()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = (0xFFFFFFFFU - (bound - 1)) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) {
      product = std::uint64_t{next_32()} * bound;
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

bool NumpyGenerator::next_bool() {
  if (bits_left_ == 0) {
    bits_ = next_32();
    bits_left_ = 31;
  } else {
    bits_ >>= 1;
    --bits_left_;
  }
  return (bits_ & 1) != 0;
}

}  // namespace roformer
