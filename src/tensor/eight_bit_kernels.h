// The inner loops of products with a weight matrix in eight bits, on CPUs: x [T, in] * weight^T
// for a weight [out, in]. Both factors are rounded to integers, the weight once with a scale for
// each of its rows, x in each call with a scale for each row, so that a text does not depend on the
// texts beside it. The integers' sums are exact.
#pragma once

#include <cstdint>
#include <string_view>

namespace roformer::kernels {

// Rows of x as integers.
struct EightBitRows {
  std::int8_t* numbers = nullptr;  // [rows, quads * 4], zeros after `in`
  float* scales = nullptr;         // [rows]
  std::int32_t* sums = nullptr;    // [rows] of the numbers
};

struct EightBitProduct {
  std::int64_t rows = 0, in = 0, out = 0;
  const std::uint8_t* panels = nullptr;  // of the weight
  const float* weight_scales = nullptr;  // [out]
  EightBitRows x;
  float* product = nullptr;  // [rows, out]

  std::int64_t quads() const { return (in + 3) / 4; }  // groups of inputs that are summed at once
};

struct EightBitKernels {
  std::int64_t panel;  // outputs that are computed at once
  // weight [out, in] -> panels [out / panel (rounded up), quads, panel, 4], each integer plus 128,
  // and the scales [out].
  void (*pack)(const float* weight, std::int64_t out, std::int64_t in, std::uint8_t* panels,
               float* scales);
  // x [rows, in] -> product.x
  void (*quantize)(const float* x, const EightBitProduct& product);
  // Computes the outputs of some panels.
  void (*multiply)(const EightBitProduct& product, std::int64_t begin, std::int64_t end);
};

// The loops for an instruction set's name ("avx512_vnni", "avx_vnni", "avx2", "baseline"), or null
// if the processor lacks it or it is above instruction_level().
const EightBitKernels* eight_bit_kernels(std::string_view instruction_set);
// The kernels for the best instruction set that instruction_level() allows.
const EightBitKernels& eight_bit_kernels();

}  // namespace roformer::kernels
