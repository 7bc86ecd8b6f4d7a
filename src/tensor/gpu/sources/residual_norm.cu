// Residual, bias, dropout and norm in one pass. A block of whole warps works on a row, of which
// each thread holds kOwned times kVector neighbouring columns in registers.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// Calls each(i, column) for the thread's groups of columns of a row: group i begins at `column`.
template <int kVector, int kOwned, typename Each>
ROFORMER_INLINE void for_owned(std::int64_t columns, const Each& each) {
#pragma unroll
  for (int i = 0; i < kOwned; ++i) {
    const std::int64_t column = (threadIdx.x + static_cast<std::int64_t>(i) * blockDim.x) * kVector;
    if (column < columns) each(i, column);
  }
}

// One block a row.
template <typename T, int kVector, int kOwned>
__global__ void residual_norm_forward(ResidualNorm<T> o) {
  using A = Accumulate<T>;
  __shared__ A scratch[32];
  const std::int64_t n = o.columns, row = blockIdx.x, start = row * n;
  const DropoutRow dropout(o.dropout, row);
  const bool drops = o.dropout.probability > 0;
  A sums[kOwned][kVector];
  A total = 0;
  for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
    A* const numbers = sums[i];
    if (o.input == nullptr) {
      load_neighbours<kVector>(o.residual + start + column, numbers);
    } else {
      load_neighbours<kVector>(o.input + start + column, numbers);
      for (int j = 0; j < kVector; ++j) {
        if (o.bias != nullptr) numbers[j] += o.bias[column + j];
        if (drops) {
          numbers[j] *= static_cast<A>(dropout(static_cast<std::uint32_t>(column + j)));
        }
      }
      if (o.residual != nullptr) {
        A residual[kVector];
        load_neighbours<kVector>(o.residual + start + column, residual);
        for (int j = 0; j < kVector; ++j) numbers[j] += residual[j];
      }
    }
    store_neighbours<kVector>(o.sum + start + column, numbers);
    for (int j = 0; j < kVector; ++j) {
      numbers[j] = rounded_to<T>(numbers[j]);  // what the backward pass will read
      total += numbers[j];
    }
  });
  if (o.gain == nullptr) return;
  const A mean = o.centred ? over_block(total, Sum(), A(0), scratch) / static_cast<A>(n) : A(0);
  A squares = 0;
  for_owned<kVector, kOwned>(n, [&](int i, std::int64_t) {
    for (int j = 0; j < kVector; ++j) squares += (sums[i][j] - mean) * (sums[i][j] - mean);
  });
  squares = over_block(squares, Sum(), A(0), scratch);
  const A inverse = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(o.epsilon));
  if (threadIdx.x == 0) {
    o.mean[row] = mean;
    o.inverse_deviation[row] = inverse;
  }
  for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
    for (int j = 0; j < kVector; ++j) {
      sums[i][j] = (sums[i][j] - mean) * inverse * o.gain[column + j];
      if (o.shift != nullptr) sums[i][j] += o.shift[column + j];
    }
    store_neighbours<kVector>(o.normed + start + column, sums[i]);
  });
}

// One block a piece of the rows. `sums` [pieces, 3, columns]: the gradients of bias, gain and shift
// from the rows of each piece.
template <typename T, int kVector, int kOwned>
__global__ void residual_norm_backward(ResidualNorm<T> o, std::int64_t rows, Accumulate<T>* sums) {
  using A = Accumulate<T>;
  __shared__ A scratch[32];
  const std::int64_t n = o.columns;
  const std::int64_t piece = (rows + gridDim.x - 1) / gridDim.x;
  const std::int64_t begin = blockIdx.x * piece;
  const std::int64_t end = begin + piece < rows ? begin + piece : rows;
  A to_bias[kOwned][kVector] = {}, to_gain[kOwned][kVector] = {}, to_shift[kOwned][kVector] = {};
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t start = row * n;
    A gradient[kOwned][kVector] = {};
    if (o.normed_gradient != nullptr) {
      const A mean = o.mean[row], inverse = o.inverse_deviation[row];
      A centred[kOwned][kVector];
      A total = 0, projection = 0;
      for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
        load_neighbours<kVector>(o.sum + start + column, centred[i]);
        load_neighbours<kVector>(o.normed_gradient + start + column, gradient[i]);
        for (int j = 0; j < kVector; ++j) {
          centred[i][j] = (centred[i][j] - mean) * inverse;
          to_gain[i][j] += gradient[i][j] * centred[i][j];
          to_shift[i][j] += gradient[i][j];
          gradient[i][j] *= o.gain[column + j];
          total += gradient[i][j];
          projection += gradient[i][j] * centred[i][j];
        }
      });
      total = o.centred ? over_block(total, Sum(), A(0), scratch) / static_cast<A>(n) : A(0);
      projection = over_block(projection, Sum(), A(0), scratch) / static_cast<A>(n);
      for_owned<kVector, kOwned>(n, [&](int i, std::int64_t) {
        for (int j = 0; j < kVector; ++j) {
          gradient[i][j] = inverse * (gradient[i][j] - total - centred[i][j] * projection);
        }
      });
    }
    const DropoutRow dropout(o.dropout, row);
    for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
      if (o.sum_gradient != nullptr) {
        A from_sum[kVector];
        load_neighbours<kVector>(o.sum_gradient + start + column, from_sum);
        for (int j = 0; j < kVector; ++j) gradient[i][j] += from_sum[j];
      }
      if (o.residual_gradient != nullptr) {
        store_neighbours<kVector>(o.residual_gradient + start + column, gradient[i]);
      }
      if (o.input_gradient == nullptr) return;
      for (int j = 0; j < kVector; ++j) {
        if (o.dropout.probability > 0) {
          gradient[i][j] *= static_cast<A>(dropout(static_cast<std::uint32_t>(column + j)));
        }
        to_bias[i][j] += gradient[i][j];
      }
      store_neighbours<kVector>(o.input_gradient + start + column, gradient[i]);
    });
  }
  A* const own = sums + blockIdx.x * 3 * n;
  for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
    for (int j = 0; j < kVector; ++j) {
      own[column + j] = to_bias[i][j];
      own[n + column + j] = to_gain[i][j];
      own[2 * n + column + j] = to_shift[i][j];
    }
  });
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
