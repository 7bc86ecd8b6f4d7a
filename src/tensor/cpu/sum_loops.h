// Sums of columns over rows.
#pragma once

#include "tensor/kernel_arithmetic.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// Four rows at a time: a pass over the sums costs as much as one over a row.
template <typename T>
void column_sums(const ColumnSums<T>& o, std::int64_t begin, std::int64_t end) {
  auto* __restrict sums = o.sums;
  std::int64_t row = begin;
  for (; row + 4 <= end; row += 4) {
    const T* __restrict a = o.rows + row * o.columns;
    const T* __restrict b = a + o.columns;
    const T* __restrict c = b + o.columns;
    const T* __restrict d = c + o.columns;
    for (std::int64_t i = 0; i < o.columns; ++i) {
      sums[i] += (load(a[i]) + load(b[i])) + (load(c[i]) + load(d[i]));
    }
  }
  for (; row < end; ++row) {
    const T* __restrict a = o.rows + row * o.columns;
    for (std::int64_t i = 0; i < o.columns; ++i) sums[i] += load(a[i]);
  }
}

template <typename A>
void running_sums(const RunningSums<A>& o) {
  A* __restrict sum = o.sum;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const A* __restrict input = o.input + r * o.input_row;
    A* __restrict output = o.output + r * o.output_row;
    const A gain = o.gains == nullptr ? A(1) : o.gains[r * o.gain_row];
    const A factor = o.factors == nullptr ? A(1) : o.factors[r * o.factor_row];
    for (std::int64_t c = 0; c < o.columns; ++c) {
      const A reached = sum[c] + gain * input[c];
      sum[c] = reached;
      output[c] = factor * reached;
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
