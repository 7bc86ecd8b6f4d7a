// The loop of few_row_kernels.h, included once for each instruction set by a file that defines
// ROFORMER_KERNELS_NAMESPACE. A block of weight rows is multiplied by a block of x's rows, so that
// each number that is loaded serves several sums.
#pragma once

#include <cstring>

#include "tensor/few_row_kernels.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {
namespace {

// A register, and the largest blocks whose sums stay in registers.
#if defined(__AVX512F__)
constexpr int kFloatLanes = 16, kWeightRows = 4, kInputRows = 6;
#elif defined(__AVX2__)
constexpr int kFloatLanes = 8, kWeightRows = 3, kInputRows = 4;
#else
constexpr int kFloatLanes = 4, kWeightRows = 3, kInputRows = 3;
#endif
typedef float FloatLanes __attribute__((vector_size(kFloatLanes * 4)));

// In one order for every block.
float sum_of_lanes(const FloatLanes& lanes) {
  typedef float Four __attribute__((vector_size(16)));
  Four fours[kFloatLanes / 4];
  std::memcpy(fours, &lanes, sizeof lanes);
#pragma GCC unroll 4
  for (int half = kFloatLanes / 8; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (int i = 0; i < half; ++i) fours[i] += fours[i + half];
  }
  return (fours[0][0] + fours[0][2]) + (fours[0][1] + fours[0][3]);
}

// Outputs first_out .. of the rows first_row .. of x.
template <int outs, int rows>
void multiply_few_block(const FewRowProduct& o, std::int64_t first_out, std::int64_t first_row) {
  const float* const weight = o.weight + first_out * o.in;
  const float* const x = o.x + first_row * o.in;
  FloatLanes sums[outs][rows] = {};
  std::int64_t i = 0;
  for (; i + kFloatLanes <= o.in; i += kFloatLanes) {
    FloatLanes weights[outs];
#pragma GCC unroll 8
    for (int out = 0; out < outs; ++out) {
      std::memcpy(&weights[out], weight + out * o.in + i, sizeof weights[out]);
    }
#pragma GCC unroll 8
    for (int row = 0; row < rows; ++row) {
      FloatLanes numbers;
      std::memcpy(&numbers, x + row * o.in + i, sizeof numbers);
#pragma GCC unroll 8
      for (int out = 0; out < outs; ++out) sums[out][row] += weights[out] * numbers;
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 8
    for (int out = 0; out < outs; ++out) {
      float sum = sum_of_lanes(sums[out][row]);
      for (std::int64_t c = i; c < o.in; ++c) sum += weight[out * o.in + c] * x[row * o.in + c];
      o.product[(first_row + row) * o.out + first_out + out] = sum;
    }
  }
}

template <int outs, int rows>
void multiply_few_rest(const FewRowProduct& o, std::int64_t out, std::int64_t row) {
  if constexpr (rows > 0) {
    if (o.rows - row == rows) {
      multiply_few_block<outs, rows>(o, out, row);
    } else {
      multiply_few_rest<outs, rows - 1>(o, out, row);
    }
  }
}

template <int outs>
void multiply_few_outputs(const FewRowProduct& o, std::int64_t out) {
  std::int64_t row = 0;
  for (; row + kInputRows <= o.rows; row += kInputRows) {
    multiply_few_block<outs, kInputRows>(o, out, row);
  }
  multiply_few_rest<outs, kInputRows - 1>(o, out, row);
}

void multiply_few_rows(const FewRowProduct& o, std::int64_t begin, std::int64_t end) {
  std::int64_t out = begin;
  for (; out + kWeightRows <= end; out += kWeightRows) multiply_few_outputs<kWeightRows>(o, out);
  for (; out < end; ++out) multiply_few_outputs<1>(o, out);
}

}  // namespace

extern const MultiplyFewRows kFewRows;
const MultiplyFewRows kFewRows = multiply_few_rows;

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
