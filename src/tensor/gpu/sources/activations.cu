// Bias and activation, with and without a gate. A block of threads stands over kVector * blockDim.x
// columns (blockIdx.x) and goes down the rows of one piece (blockIdx.y), so that each thread adds
// up the gradient of its own columns' bias, and nobody waits for anybody.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <typename A>
ROFORMER_INLINE A activate_as(Activation activation, A x) {
  switch (activation) {
    case Activation::gelu:
      return activate<Activation::gelu>(x);
    case Activation::gelu_tanh:
      return activate<Activation::gelu_tanh>(x);
    case Activation::relu:
      return activate<Activation::relu>(x);
    case Activation::swish:
      return activate<Activation::swish>(x);
  }
  return x;
}

template <typename A>
ROFORMER_INLINE A activate_slope_as(Activation activation, A x) {
  switch (activation) {
    case Activation::gelu:
      return activate_slope<Activation::gelu>(x);
    case Activation::gelu_tanh:
      return activate_slope<Activation::gelu_tanh>(x);
    case Activation::relu:
      return activate_slope<Activation::relu>(x);
    case Activation::swish:
      return activate_slope<Activation::swish>(x);
  }
  return x;
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

template <typename T, int kVector>
__global__ void bias_activation_forward(BiasActivation<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  if (part.column >= o.columns) return;
  A bias[kVector], numbers[kVector];
  for (int i = 0; i < kVector; ++i) bias[i] = o.bias[part.column + i];
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const std::int64_t at = row * o.columns + part.column;
    load_neighbours<kVector>(o.input + at, numbers);
    for (int i = 0; i < kVector; ++i) {
      numbers[i] = activate_as(o.activation, numbers[i] + bias[i]);
    }
    store_neighbours<kVector>(o.output + at, numbers);
  }
}

// bias_gradient is [pieces, columns] here: of each piece its own.
template <typename T, int kVector>
__global__ void bias_activation_backward(BiasActivation<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  if (part.column >= o.columns) return;
  A bias[kVector], sums[kVector], numbers[kVector], gradient[kVector];
  for (int i = 0; i < kVector; ++i) {
    bias[i] = o.bias[part.column + i];
    sums[i] = 0;
  }
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const std::int64_t at = row * o.columns + part.column;
    load_neighbours<kVector>(o.input + at, numbers);
    load_neighbours<kVector>(o.output_gradient + at, gradient);
    for (int i = 0; i < kVector; ++i) {
      gradient[i] *= activate_slope_as(o.activation, numbers[i] + bias[i]);
      sums[i] += gradient[i];
    }
    store_neighbours<kVector>(o.output + at, gradient);
  }
  A* const to_bias = o.bias_gradient + blockIdx.y * o.columns + part.column;
  for (int i = 0; i < kVector; ++i) to_bias[i] = sums[i];
}

template <typename T, int kVector>
__global__ void gated_activation_forward(GatedActivation<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  const std::int64_t n = o.columns;
  if (part.column >= n) return;
  A inner_bias[kVector], gate_bias[kVector], inner[kVector], gate[kVector];
  for (int i = 0; i < kVector; ++i) {
    inner_bias[i] = o.bias[part.column + i];
    gate_bias[i] = o.bias[n + part.column + i];
  }
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const T* const input = o.input + 2 * row * n + part.column;
    load_neighbours<kVector>(input, inner);
    load_neighbours<kVector>(input + n, gate);
    for (int i = 0; i < kVector; ++i) {
      inner[i] = activate_as(o.activation, inner[i] + inner_bias[i]) * (gate[i] + gate_bias[i]);
    }
    store_neighbours<kVector>(o.output + row * n + part.column, inner);
  }
}

// bias_gradient is [pieces, 2 * columns] here.
template <typename T, int kVector>
__global__ void gated_activation_backward(GatedActivation<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const ColumnPart<kVector> part(rows);
  const std::int64_t n = o.columns;
  if (part.column >= n) return;
  A inner_bias[kVector], gate_bias[kVector], inner[kVector], gate[kVector], outer[kVector];
  A inner_sums[kVector], gate_sums[kVector];
  for (int i = 0; i < kVector; ++i) {
    inner_bias[i] = o.bias[part.column + i];
    gate_bias[i] = o.bias[n + part.column + i];
    inner_sums[i] = gate_sums[i] = 0;
  }
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const std::int64_t at = 2 * row * n + part.column;
    load_neighbours<kVector>(o.input + at, inner);
    load_neighbours<kVector>(o.input + at + n, gate);
    load_neighbours<kVector>(o.output_gradient + row * n + part.column, outer);
    for (int i = 0; i < kVector; ++i) {
      const A x = inner[i] + inner_bias[i];
      inner[i] = outer[i] * (gate[i] + gate_bias[i]) * activate_slope_as(o.activation, x);
      gate[i] = outer[i] * activate_as(o.activation, x);
      inner_sums[i] += inner[i];
      gate_sums[i] += gate[i];
    }
    store_neighbours<kVector>(o.output + at, inner);
    store_neighbours<kVector>(o.output + at + n, gate);
  }
  A* const to_bias = o.bias_gradient + blockIdx.y * 2 * n + part.column;
  for (int i = 0; i < kVector; ++i) {
    to_bias[i] = inner_sums[i];
    to_bias[n + i] = gate_sums[i];
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
