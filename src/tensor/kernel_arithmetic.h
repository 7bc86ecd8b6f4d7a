// The formulas of single numbers that the loops of CPUs and the kernels of GPUs share. The includer
// defines ROFORMER_KERNELS_NAMESPACE (one for each instruction set), ROFORMER_INLINE (the
// specifiers of an inlined function) and, for a GPU's compiler, ROFORMER_GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/kernels.h"

// Compute capability 8.0 has an instruction that rounds to bfloat16.
#if defined(ROFORMER_GPU) && __CUDA_ARCH__ >= 800
#define ROFORMER_GPU_ROUNDS 1
#else
#define ROFORMER_GPU_ROUNDS 0
#endif

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

ROFORMER_INLINE float load(const c10::BFloat16& value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.x) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
ROFORMER_INLINE float load(const float& value) {
  return value;
}
ROFORMER_INLINE double load(const double& value) {
  return value;
}

ROFORMER_INLINE void store(float& target, float value) {
  target = value;
}
ROFORMER_INLINE void store(double& target, double value) {
  target = value;
}
// Round to nearest even; NaN stays NaN because its quiet bit is kept by the addition's limits.
ROFORMER_INLINE void store(c10::BFloat16& target, float value) {
#if ROFORMER_GPU_ROUNDS
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(target.x) : "f"(value));
#else
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  target.x = static_cast<std::uint16_t>(is_nan ? 0x7fc0u : rounded >> 16);
#endif
}

#ifdef ROFORMER_GPU
// 1 / x and 2^x (0 for -infinity) by the GPU's instructions, which are exact to 22 bits.
ROFORMER_INLINE float inverse_of(float x) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
}
ROFORMER_INLINE float power_of_2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// exp for float from -87 to 88 with a relative error below 4e-7. The product with log2(e) has two
// parts because the rounding error of one would grow with x.
ROFORMER_INLINE float exponential_within(float x) {
  const float whole = x * 1.44269504088896341f;
  const float rest = fmaf(x, 1.92596299e-8f, fmaf(x, 1.44269504088896341f, -whole));
  const float power = power_of_2(whole);
  return fmaf(power, rest * 0.69314718056f, power);
}
#else
ROFORMER_INLINE float inverse_of(float x) {
  return 1.0f / x;
}

// exp for float from -87 to 88: 2^n times a polynomial of the remainder (Cephes expf coefficients).
// The relative error is 2e-7 near zero and below 2e-6 elsewhere, because a compiler that may
// reassociate joins the two parts of log(2). Without -ffast-math the library's function is not
// vectorised.
ROFORMER_INLINE float exponential_within(float x) {
  const float n = std::nearbyint(x * 1.44269504088896341f);
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  std::int32_t bits;  // p is near 1 and the result not below the least normal number
  std::memcpy(&bits, &p, sizeof bits);
  bits += static_cast<std::int32_t>(n) << 23;
  std::memcpy(&p, &bits, sizeof p);
  return p;
}
#endif
ROFORMER_INLINE double inverse_of(double x) {
  return 1.0 / x;
}
ROFORMER_INLINE double exponential_within(double x) {
  return std::exp(x);
}

ROFORMER_INLINE float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  return exponential_within(x);
}
ROFORMER_INLINE double exponential(double x) {
  return std::exp(x);
}

// Standard normal density and distribution at x. For float the error function is Abramowitz and
// Stegun 7.1.26 (absolute error 1.5e-7), which shares its exponential with the density.
ROFORMER_INLINE void gaussian(float x, float& density, float& distribution) {
  const float power = exponential(-0.5f * x * x);
  const float t = inverse_of(1.0f + 0.3275911f * 0.70710678f * std::fabs(x));
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * power;
  density = 0.3989422804f * power;
  distribution = x > 0 ? 1.0f - tail : tail;
}
ROFORMER_INLINE void gaussian(double x, double& density, double& distribution) {
  density = 0.39894228040143267794 * std::exp(-0.5 * x * x);
  distribution = 0.5 * std::erfc(-x * 0.70710678118654752440);
}

template <Activation activation, typename A>
ROFORMER_INLINE A activate(A x) {
  if constexpr (activation == Activation::relu) {
    return x > 0 ? x : A(0);
  } else if constexpr (activation == Activation::gelu) {
    A density, distribution;
    gaussian(x, density, distribution);
    return x * distribution;
  } else if constexpr (activation == Activation::swish) {
    return x / (A(1) + exponential(-x));
  } else {
    // 0.5 x (1 + tanh(u)) = x sigmoid(2u)
    const A u = A(0.79788456080286535588) * (x + A(0.044715) * x * x * x);
    return x / (A(1) + exponential(-2 * u));
  }
}

template <Activation activation, typename A>
ROFORMER_INLINE A activate_slope(A x) {
  if constexpr (activation == Activation::relu) {
    return x > 0 ? A(1) : A(0);
  } else if constexpr (activation == Activation::gelu) {
    A density, distribution;
    gaussian(x, density, distribution);
    return distribution + x * density;
  } else if constexpr (activation == Activation::swish) {
    const A gate = inverse_of(A(1) + exponential(-x));
    return gate + x * gate * (A(1) - gate);
  } else {
    const A u = A(0.79788456080286535588) * (x + A(0.044715) * x * x * x);
    const A slope = A(0.79788456080286535588) * (A(1) + A(3 * 0.044715) * x * x);
    const A gate = inverse_of(A(1) + exponential(-2 * u));
    return gate + x * 2 * gate * (A(1) - gate) * slope;
  }
}

// The factor of an element under dropout: 0 or 1 / (1 - probability). 32-bit finaliser of Mueller
// (lowbias32) over the row's key and the column. composed::dropped computes the same.
struct DropoutRow {
  std::uint32_t key;
  std::uint32_t threshold;
  float scale;

  ROFORMER_INLINE DropoutRow(const Dropout& dropout, std::int64_t row) {
    const auto number = static_cast<std::uint64_t>(dropout.first_row + row + 1);
    const std::uint64_t drawn = dropout.key_at != nullptr ? *dropout.key_at : dropout.key;
    std::uint64_t mixed = drawn + 0x9e3779b97f4a7c15ULL * number;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    key = static_cast<std::uint32_t>(mixed ^ (mixed >> 31));
    threshold = static_cast<std::uint32_t>(dropout.probability * 4294967296.0);
    scale = static_cast<float>(1.0 / (1.0 - dropout.probability));
  }
  ROFORMER_INLINE float operator()(std::uint32_t column) const {
    std::uint32_t x = key + column * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    x ^= x >> 16;
    return x < threshold ? 0.0f : scale;
  }
};

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
