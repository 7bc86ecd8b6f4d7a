// Bias and activation, with and without a gate. A block owns kVector * blockDim.x columns (blockIdx.x)
// and goes down the rows of one piece (blockIdx.y): each thread sums the gradient of its columns' bias
// without waiting for others.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// An activation as a type, so that loops are compiled for each.
template <Activation kActivation>
struct Chosen {
  template <typename A>
  ROFORMER_INLINE A value(A x) const {
    return activate<kActivation>(x);
  }
  template <typename A>
  ROFORMER_INLINE A slope(A x) const {
    return activate_slope<kActivation>(x);
  }
};

template <typename Loop>
ROFORMER_INLINE void with_activation(Activation activation, const Loop& loop) {
  switch (activation) {
    case Activation::gelu:
      return loop(Chosen<Activation::gelu>());
    case Activation::gelu_tanh:
      return loop(Chosen<Activation::gelu_tanh>());
    case Activation::relu:
      return loop(Chosen<Activation::relu>());
    case Activation::swish:
      return loop(Chosen<Activation::swish>());
  }
}

// The first of a thread's columns, and the rows of its piece.
template <int kVector>
struct ColumnPart {
  std::int64_t column;
  std::int64_t begin;
  std::int64_t end;

  ROFORMER_INLINE explicit ColumnPart(std::int64_t rows)
      : column((static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kVector) {
    const std::int64_t piece = (rows + gridDim.y - 1) / gridDim.y;
    begin = blockIdx.y * piece;
    end = begin + piece < rows ? begin + piece : rows;
  }
};

// Rows that a thread loads at once.
constexpr int kRowsTogether = 2;

// Calls each(row, read) for the rows of a part: read[t] holds the thread's columns of tensor t in that
// row; `starts` point to row 0, with `strides` between rows.
template <int kVector, typename T, int kTensors, typename Each>
ROFORMER_INLINE void for_rows_of(const ColumnPart<kVector>& part,
                                 const T* const (&starts)[kTensors],
                                 const std::int64_t (&strides)[kTensors], const Each& each) {
  for (std::int64_t first = part.begin; first < part.end; first += kRowsTogether) {
    Neighbours<T, kVector> read[kRowsTogether][kTensors];
#pragma unroll
    for (int r = 0; r < kRowsTogether; ++r) {
      if (first + r >= part.end) break;
#pragma unroll
      for (int t = 0; t < kTensors; ++t) {
        read[r][t] = read_neighbours<kVector>(starts[t] + (first + r) * strides[t]);
      }
    }
#pragma unroll
    for (int r = 0; r < kRowsTogether; ++r) {
      if (first + r >= part.end) break;
      each(first + r, read[r]);
    }
  }
}

template <typename T, int kVector>
__global__ void bias_activation_forward(BiasActivation<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  if (part.column >= o.columns) return;
  A bias[kVector];
  for (int i = 0; i < kVector; ++i) bias[i] = o.bias[part.column + i];
  with_activation(o.activation, [&](const auto& activation) {
    for_rows_of<kVector, T, 1>(part, {o.input + part.column}, {o.columns},
                               [&](std::int64_t row, const Neighbours<T, kVector>(&read)[1]) {
                                 A numbers[kVector];
                                 load_neighbours<kVector, T>(read[0], numbers);
                                 for (int i = 0; i < kVector; ++i) {
                                   numbers[i] = activation.value(numbers[i] + bias[i]);
                                 }
                                 store_neighbours<kVector>(o.output + row * o.columns + part.column,
                                                           numbers);
                               });
  });
}

// `sums` [pieces, columns]: the gradient of the bias from each piece's rows.
template <typename T, int kVector>
__global__ void bias_activation_backward(BiasActivation<T> o, std::int64_t rows,
                                         Accumulate<T>* sums) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  if (part.column >= o.columns) return;
  A bias[kVector], own[kVector] = {};
  for (int i = 0; i < kVector; ++i) bias[i] = o.bias[part.column + i];
  with_activation(o.activation, [&](const auto& activation) {
    for_rows_of<kVector, T, 2>(
        part, {o.input + part.column, o.output_gradient + part.column}, {o.columns, o.columns},
        [&](std::int64_t row, const Neighbours<T, kVector>(&read)[2]) {
          A numbers[kVector], gradient[kVector];
          load_neighbours<kVector, T>(read[0], numbers);
          load_neighbours<kVector, T>(read[1], gradient);
          for (int i = 0; i < kVector; ++i) {
            numbers[i] = gradient[i] * activation.slope(numbers[i] + bias[i]);
            own[i] += numbers[i];
          }
          store_neighbours<kVector>(o.output + row * o.columns + part.column, numbers);
        });
  });
  A* const to = sums + blockIdx.y * o.columns + part.column;
  for (int i = 0; i < kVector; ++i) to[i] = own[i];
}

template <typename T, int kVector>
__global__ void gated_activation_forward(GatedActivation<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  const std::int64_t n = o.columns;
  if (part.column >= n) return;
  A inner_bias[kVector], gate_bias[kVector];
  for (int i = 0; i < kVector; ++i) {
    inner_bias[i] = o.bias[part.column + i];
    gate_bias[i] = o.bias[n + part.column + i];
  }
  with_activation(o.activation, [&](const auto& activation) {
    for_rows_of<kVector, T, 2>(
        part, {o.input + part.column, o.input + n + part.column}, {2 * n, 2 * n},
        [&](std::int64_t row, const Neighbours<T, kVector>(&read)[2]) {
          A inner[kVector], gate[kVector];
          load_neighbours<kVector, T>(read[0], inner);
          load_neighbours<kVector, T>(read[1], gate);
          for (int i = 0; i < kVector; ++i) {
            inner[i] = activation.value(inner[i] + inner_bias[i]) * (gate[i] + gate_bias[i]);
          }
          store_neighbours<kVector>(o.output + row * n + part.column, inner);
        });
  });
}

// `sums` [pieces, 2 * columns].
template <typename T, int kVector>
__global__ void gated_activation_backward(GatedActivation<T> o, std::int64_t rows,
                                          Accumulate<T>* sums) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  const std::int64_t n = o.columns;
  if (part.column >= n) return;
  A inner_bias[kVector], gate_bias[kVector], inner_sums[kVector] = {}, gate_sums[kVector] = {};
  for (int i = 0; i < kVector; ++i) {
    inner_bias[i] = o.bias[part.column + i];
    gate_bias[i] = o.bias[n + part.column + i];
  }
  with_activation(o.activation, [&](const auto& activation) {
    for_rows_of<kVector, T, 3>(
        part, {o.input + part.column, o.input + n + part.column, o.output_gradient + part.column},
        {2 * n, 2 * n, n}, [&](std::int64_t row, const Neighbours<T, kVector>(&read)[3]) {
          A inner[kVector], gate[kVector], outer[kVector];
          load_neighbours<kVector, T>(read[0], inner);
          load_neighbours<kVector, T>(read[1], gate);
          load_neighbours<kVector, T>(read[2], outer);
          for (int i = 0; i < kVector; ++i) {
            const A x = inner[i] + inner_bias[i];
            inner[i] = outer[i] * (gate[i] + gate_bias[i]) * activation.slope(x);
            gate[i] = outer[i] * activation.value(x);
            inner_sums[i] += inner[i];
            gate_sums[i] += gate[i];
          }
          T* const output = o.output + 2 * row * n + part.column;
          store_neighbours<kVector>(output, inner);
          store_neighbours<kVector>(output + n, gate);
        });
  });
  A* const to = sums + blockIdx.y * 2 * n + part.column;
  for (int i = 0; i < kVector; ++i) {
    to[i] = inner_sums[i];
    to[n + i] = gate_sums[i];
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
