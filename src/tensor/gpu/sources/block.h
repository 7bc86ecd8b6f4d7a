// What the kernels of a row share: several neighbouring numbers read and written at once, and sums
// over the threads of a block. The includer defines ROFORMER_KERNELS_NAMESPACE and ROFORMER_INLINE.
#pragma once

#include <cstdint>

#include "tensor/kernel_arithmetic.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// Neighbours in memory, moved by one instruction.
template <typename T, int kVector>
struct alignas(sizeof(T) * kVector > 16 ? 16 : sizeof(T) * kVector) Neighbours {
  T numbers[kVector];
};

template <int kVector, typename T>
ROFORMER_INLINE void load_neighbours(const T* from, Accumulate<T>* numbers) {
  const auto read = *reinterpret_cast<const Neighbours<T, kVector>*>(from);
  for (int i = 0; i < kVector; ++i) numbers[i] = load(read.numbers[i]);
}

template <int kVector, typename T>
ROFORMER_INLINE void store_neighbours(T* to, const Accumulate<T>* numbers) {
  Neighbours<T, kVector> written;
  for (int i = 0; i < kVector; ++i) store(written.numbers[i], numbers[i]);
  *reinterpret_cast<Neighbours<T, kVector>*>(to) = written;
}

// As a number that was stored and loaded again.
template <typename T>
ROFORMER_INLINE Accumulate<T> rounded_to(Accumulate<T> number) {
  T stored;
  store(stored, number);
  return load(stored);
}

struct Sum {
  template <typename A>
  ROFORMER_INLINE A operator()(A a, A b) const {
    return a + b;
  }
};
struct Largest {
  template <typename A>
  ROFORMER_INLINE A operator()(A a, A b) const {
    return a > b ? a : b;
  }
};

// `value` of all threads of a warp put together, in each of them.
template <typename A, typename Operation>
ROFORMER_INLINE A over_warp(A value, Operation together) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = together(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// Of all threads of a block of whole warps, in an order that the number of threads alone decides.
// `scratch` [32] is shared. `nothing` changes no value that it is put together with.
template <typename A, typename Operation>
ROFORMER_INLINE A over_block(A value, Operation together, A nothing, A* scratch) {
  value = over_warp(value, together);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // until everyone has read what scratch held before
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return over_warp(lane < blockDim.x / 32 ? scratch[lane] : nothing, together);
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
