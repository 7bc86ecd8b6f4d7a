// The loops of eight_bit_kernels.h, included once for each instruction set by a file that defines
// ROFORMER_KERNELS_NAMESPACE. The processor's instruction multiplies unsigned with signed bytes and
// adds four neighbouring products. The weight is the unsigned factor (128 is added to it, and 128
// times the sum of x's numbers subtracted at the end), so that a few bytes of x are the factor that
// all lanes share.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/eight_bit_kernels.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {
namespace {

constexpr std::int32_t kShift = 128;

#if defined(__AVX512VNNI__)
struct Lanes {
  using Vector = __m512i;
  static constexpr int kVectors = 4, kRows = 6;  // accumulators for 32 registers
  static constexpr std::int32_t kSteps = 255;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
  static Vector repeat(std::int32_t quad) { return _mm512_set1_epi32(quad); }
  static Vector add(Vector sum, Vector weight, Vector x) {
    return _mm512_dpbusd_epi32(sum, weight, x);
  }
};
#elif defined(__AVX2__)
struct Lanes {
  using Vector = __m256i;
  static constexpr int kVectors = 2;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Vector repeat(std::int32_t quad) { return _mm256_set1_epi32(quad); }
#if defined(__AVXVNNI__)
  static constexpr int kRows = 6;
  static constexpr std::int32_t kSteps = 255;
  static Vector add(Vector sum, Vector weight, Vector x) {
    return _mm256_dpbusd_avx_epi32(sum, weight, x);
  }
#else
  static constexpr int kRows = 4;
  // Two products are added in sixteen bits: 2 * 255 * 64 fits.
  static constexpr std::int32_t kSteps = 127;
  static Vector add(Vector sum, Vector weight, Vector x) {
    const Vector pairs = _mm256_maddubs_epi16(weight, x);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
#endif
};
#else
struct Lanes {
  struct Vector {
    std::int32_t lanes[4];
  };
  static constexpr int kVectors = 2, kRows = 2;
  static constexpr std::int32_t kSteps = 255;
  static Vector zero() { return {}; }
  static Vector load(const std::uint8_t* from) {
    Vector result;
    std::memcpy(&result, from, sizeof result);
    return result;
  }
  static Vector repeat(std::int32_t quad) { return {{quad, quad, quad, quad}}; }
  static Vector add(Vector sum, Vector weight, Vector x) {
    std::uint8_t unsigned_bytes[16];
    std::int8_t signed_bytes[16];
    std::memcpy(unsigned_bytes, &weight, 16);
    std::memcpy(signed_bytes, &x, 16);
    for (int i = 0; i < 16; ++i) sum.lanes[i / 4] += unsigned_bytes[i] * signed_bytes[i];
    return sum;
  }
};
#endif

constexpr std::int64_t kBytes = sizeof(Lanes::Vector);
constexpr std::int64_t kPanel = Lanes::kVectors * kBytes / 4;

// The largest magnitude; that of infinity and NaN is larger than all others.
float largest_magnitude(const float* x, std::int64_t count) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return std::bit_cast<float>(largest);
}

void pack(const float* weight, std::int64_t out, std::int64_t in, std::uint8_t* panels,
          float* scales) {
  const std::int64_t quads = (in + 3) / 4, rounded = (out + kPanel - 1) / kPanel * kPanel;
  std::memset(panels, kShift, static_cast<std::size_t>(rounded * quads * 4));
  for (std::int64_t o = 0; o < out; ++o) {
    const float* const row = weight + o * in;
    const float largest = std::max(largest_magnitude(row, in), 1e-12F);
    scales[o] = largest / 127;
    std::uint8_t* const to = panels + (o / kPanel * quads * kPanel + o % kPanel) * 4;
    for (std::int64_t i = 0; i < in; ++i) {
      const auto number = static_cast<std::int32_t>(std::rint(row[i] * (127 / largest)));
      to[i / 4 * kPanel * 4 + i % 4] = static_cast<std::uint8_t>(number + kShift);
    }
  }
}

// The range of x's row in steps: numbers from -(kSteps + 1) / 2 to kMost.
constexpr float kHalf = static_cast<float>(Lanes::kSteps) / 2;
constexpr std::int32_t kMost = Lanes::kSteps / 2;

void quantize(const float* x, const EightBitProduct& o) {
  const std::int64_t in = o.in, width = o.quads() * 4;
  for (std::int64_t row = 0; row < o.rows; ++row, x += in) {
    std::int8_t* __restrict to = o.x.numbers + row * width;
    const float largest = std::max(largest_magnitude(x, in), 1e-30F);
    const bool finite = largest <= std::numeric_limits<float>::max();
    const float factor = finite ? kHalf / largest : 0;
    o.x.scales[row] = finite ? largest / kHalf : std::numeric_limits<float>::quiet_NaN();
    const float* __restrict from = x;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      const auto rounded = static_cast<std::int32_t>(std::rint(from[i] * factor));
      const std::int32_t number = rounded < kMost ? rounded : kMost;
      to[i] = static_cast<std::int8_t>(number);
      sum += number;
    }
    for (std::int64_t i = in; i < width; ++i) to[i] = 0;
    o.x.sums[row] = sum;
  }
}

// Rows first .. first + rows - 1 of one panel's outputs.
template <int rows>
void multiply_block(const EightBitProduct& o, std::int64_t panel, std::int64_t first) {
  const std::int64_t quads = o.quads(), width = quads * 4;
  const std::uint8_t* weight = o.panels + panel * quads * kPanel * 4;
  const std::int8_t* const x = o.x.numbers + first * width;
  Lanes::Vector sums[rows][Lanes::kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 8
    for (int v = 0; v < Lanes::kVectors; ++v) sums[row][v] = Lanes::zero();
  }
  for (std::int64_t quad = 0; quad < quads; ++quad, weight += kPanel * 4) {
    Lanes::Vector weights[Lanes::kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < Lanes::kVectors; ++v) weights[v] = Lanes::load(weight + v * kBytes);
#pragma GCC unroll 8
    for (int row = 0; row < rows; ++row) {
      std::int32_t bytes;
      std::memcpy(&bytes, x + row * width + quad * 4, sizeof bytes);
      const Lanes::Vector shared = Lanes::repeat(bytes);
#pragma GCC unroll 8
      for (int v = 0; v < Lanes::kVectors; ++v) {
        sums[row][v] = Lanes::add(sums[row][v], weights[v], shared);
      }
    }
  }
  const std::int64_t column = panel * kPanel, count = std::min(kPanel, o.out - column);
  const float* __restrict scales = o.weight_scales + column;
#pragma GCC unroll 8
  for (int row = 0; row < rows; ++row) {
    std::int32_t whole[kPanel];
#pragma GCC unroll 8
    for (int v = 0; v < Lanes::kVectors; ++v) {
      const Lanes::Vector lanes = sums[row][v];  // a copy, so that the sums stay in registers
      std::memcpy(whole + v * (kPanel / Lanes::kVectors), &lanes, sizeof lanes);
    }
    const std::int32_t shift = kShift * o.x.sums[first + row];
    const float scale = o.x.scales[first + row];
    float* __restrict to = o.product + (first + row) * o.out + column;
    for (std::int64_t c = 0; c < count; ++c) {
      to[c] = static_cast<float>(whole[c] - shift) * (scale * scales[c]);
    }
  }
}

template <int rows>
void multiply_rest(const EightBitProduct& o, std::int64_t panel, std::int64_t first) {
  if constexpr (rows > 0) {
    if (o.rows - first == rows) {
      multiply_block<rows>(o, panel, first);
    } else {
      multiply_rest<rows - 1>(o, panel, first);
    }
  }
}

void multiply(const EightBitProduct& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t panel = begin; panel < end; ++panel) {
    std::int64_t row = 0;
    for (; row + Lanes::kRows <= o.rows; row += Lanes::kRows) {
      multiply_block<Lanes::kRows>(o, panel, row);
    }
    multiply_rest<Lanes::kRows - 1>(o, panel, row);
  }
}

}  // namespace

extern const EightBitKernels kEightBit;
const EightBitKernels kEightBit{
    .panel = kPanel, .pack = pack, .quantize = quantize, .multiply = multiply};

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
