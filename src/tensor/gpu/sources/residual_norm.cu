// Residual, bias, dropout and norm in one pass. A warp processes a row, or a whole block if the row
// is wide. Each thread holds kOwned times kVector neighbouring columns in registers.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// The threads of a row.
template <bool kWarp>
struct RowThreads {
  unsigned thread = kWarp ? threadIdx.x % 32 : threadIdx.x;
  unsigned count = kWarp ? 32 : blockDim.x;

  // The first row of the thread.
  ROFORMER_INLINE std::int64_t first() const {
    return kWarp ? static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32
                 : blockIdx.x;
  }
  template <typename A>
  ROFORMER_INLINE A sum(A value, A* scratch) const {
    return kWarp ? over_warp(value, Sum()) : over_block(value, Sum(), A(0), scratch);
  }

  // Calls each(i, column) for the thread's groups of columns: group i begins at `column`.
  template <int kVector, int kOwned, typename Each>
  ROFORMER_INLINE void for_owned(std::int64_t columns, const Each& each) const {
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      const std::int64_t column = (thread + static_cast<std::int64_t>(i) * count) * kVector;
      if (column < columns) each(i, column);
    }
  }
};

template <typename T, int kVector, int kOwned, bool kWarp>
__global__ void residual_norm_forward(ResidualNorm<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  __shared__ A scratch[32];
  const RowThreads<kWarp> own;
  const std::int64_t n = o.columns, row = own.first(), start = row * n;
  if (row >= rows) return;
  const DropoutRow dropout(o.dropout, row);
  const bool drops = o.dropout.probability > 0;
  Neighbours<T, kVector> input[kOwned], residual[kOwned];  // all on their way before one is used
  own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
    if (o.input != nullptr) input[i] = read_neighbours<kVector>(o.input + start + column);
    if (o.residual != nullptr) residual[i] = read_neighbours<kVector>(o.residual + start + column);
  });
  A sums[kOwned][kVector];
  A total = 0;
  own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
    A* const numbers = sums[i];
    if (o.input == nullptr) {
      load_neighbours<kVector, T>(residual[i], numbers);
    } else {
      load_neighbours<kVector, T>(input[i], numbers);
      A bias[kVector] = {};
      if (o.bias != nullptr) load_neighbours<kVector>(o.bias + column, bias);
      for (int j = 0; j < kVector; ++j) {
        numbers[j] += bias[j];
        if (drops) {
          numbers[j] *= static_cast<A>(dropout(static_cast<std::uint32_t>(column + j)));
        }
      }
      if (o.residual != nullptr) {
        A added[kVector];
        load_neighbours<kVector, T>(residual[i], added);
        for (int j = 0; j < kVector; ++j) numbers[j] += added[j];
      }
    }
    store_neighbours<kVector>(o.sum + start + column, numbers);
    for (int j = 0; j < kVector; ++j) {
      numbers[j] = rounded_to<T>(numbers[j]);  // the values that the backward pass will read
      total += numbers[j];
    }
  });
  if (o.gain == nullptr) return;
  const A mean = o.centred ? own.sum(total, scratch) / static_cast<A>(n) : A(0);
  A squares = 0;
  own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t) {
    for (int j = 0; j < kVector; ++j) squares += (sums[i][j] - mean) * (sums[i][j] - mean);
  });
  squares = own.sum(squares, scratch);
  const A inverse = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(o.epsilon));
  if (own.thread == 0) {
    o.mean[row] = mean;
    o.inverse_deviation[row] = inverse;
  }
  own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
    A gain[kVector], shift[kVector] = {};
    load_neighbours<kVector>(o.gain + column, gain);
    if (o.shift != nullptr) load_neighbours<kVector>(o.shift + column, shift);
    for (int j = 0; j < kVector; ++j) {
      sums[i][j] = (sums[i][j] - mean) * inverse * gain[j] + shift[j];
    }
    store_neighbours<kVector>(o.normed + start + column, sums[i]);
  });
}

// One block processes one piece of the rows. `sums` [pieces, 3, columns]: the gradients of bias,
// gain and shift from the rows of each piece.
template <typename T, int kVector, int kOwned, bool kWarp>
__global__ void residual_norm_backward(ResidualNorm<T> o, std::int64_t rows, Accumulate<T>* sums) {
  using A = Accumulate<T>;
  __shared__ A scratch[kWarp ? 32 * kVector * kOwned : 32];
  const RowThreads<kWarp> own;
  const std::int64_t n = o.columns;
  const std::int64_t together =
      kWarp ? static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32) : gridDim.x;
  A of_rows[3][kOwned][kVector] = {};  // of bias, gain and shift
  for (std::int64_t row = own.first(); row < rows; row += together) {
    const std::int64_t start = row * n;
    const bool norms = o.normed_gradient != nullptr;
    Neighbours<T, kVector> of_sum[kOwned], of_normed[kOwned], from_sum[kOwned];
    own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
      if (norms) {
        of_sum[i] = read_neighbours<kVector>(o.sum + start + column);
        of_normed[i] = read_neighbours<kVector>(o.normed_gradient + start + column);
      }
      if (o.sum_gradient != nullptr) {
        from_sum[i] = read_neighbours<kVector>(o.sum_gradient + start + column);
      }
    });
    A gradient[kOwned][kVector] = {};
    if (norms) {
      const A mean = o.mean[row], inverse = o.inverse_deviation[row];
      A centred[kOwned][kVector];
      A total = 0, projection = 0;
      own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
        load_neighbours<kVector, T>(of_sum[i], centred[i]);
        load_neighbours<kVector, T>(of_normed[i], gradient[i]);
        A gain[kVector];
        load_neighbours<kVector>(o.gain + column, gain);
        for (int j = 0; j < kVector; ++j) {
          centred[i][j] = (centred[i][j] - mean) * inverse;
          of_rows[1][i][j] += gradient[i][j] * centred[i][j];
          of_rows[2][i][j] += gradient[i][j];
          gradient[i][j] *= gain[j];
          total += gradient[i][j];
          projection += gradient[i][j] * centred[i][j];
        }
      });
      total = o.centred ? own.sum(total, scratch) / static_cast<A>(n) : A(0);
      projection = own.sum(projection, scratch) / static_cast<A>(n);
      own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t) {
        for (int j = 0; j < kVector; ++j) {
          gradient[i][j] = inverse * (gradient[i][j] - total - centred[i][j] * projection);
        }
      });
    }
    const DropoutRow dropout(o.dropout, row);
    own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
      if (o.sum_gradient != nullptr) {
        A added[kVector];
        load_neighbours<kVector, T>(from_sum[i], added);
        for (int j = 0; j < kVector; ++j) gradient[i][j] += added[j];
      }
      if (o.residual_gradient != nullptr) {
        store_neighbours<kVector>(o.residual_gradient + start + column, gradient[i]);
      }
      if (o.input_gradient == nullptr) return;
      for (int j = 0; j < kVector; ++j) {
        if (o.dropout.probability > 0) {
          gradient[i][j] *= static_cast<A>(dropout(static_cast<std::uint32_t>(column + j)));
        }
        of_rows[0][i][j] += gradient[i][j];
      }
      store_neighbours<kVector>(o.input_gradient + start + column, gradient[i]);
    });
  }
  A* const to = sums + blockIdx.x * 3 * n;
#pragma unroll
  for (int part = 0; part < 3; ++part) {  // in registers, so that its number must be a constant
    if constexpr (kWarp) {
      // The warps add in turn, each to the sums of the warps before it.
      const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
      for (unsigned turn = 0; turn < warps; ++turn) {
        if (turn == warp) {
          own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
            for (int j = 0; j < kVector; ++j) {
              if (turn > 0) of_rows[part][i][j] += scratch[column + j];
              if (turn + 1 < warps) scratch[column + j] = of_rows[part][i][j];
            }
          });
        }
        __syncthreads();
      }
      if (warp + 1 != warps) continue;
    }
    own.template for_owned<kVector, kOwned>(n, [&](int i, std::int64_t column) {
      for (int j = 0; j < kVector; ++j) to[part * n + column + j] = of_rows[part][i][j];
    });
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
