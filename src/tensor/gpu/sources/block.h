// Shared by the row kernels: reading and writing neighbouring numbers at once, and sums over the
// threads of a block. The includer defines ROFORMER_KERNELS_NAMESPACE and ROFORMER_INLINE.
#pragma once

#include <cstdint>

#include "tensor/kernel_arithmetic.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

#if ROFORMER_GPU_ROUNDS
// Two numbers as neighbours in memory, rounded to nearest even.
ROFORMER_INLINE std::uint32_t bfloat16_pair(float first, float second) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
#endif

#ifdef ROFORMER_GPU
// The block's shared memory of a size that its launch gives.
ROFORMER_INLINE unsigned char* dynamic_shared() {
  extern __shared__ uint4 dynamic_shared_memory[];
  return reinterpret_cast<unsigned char*>(dynamic_shared_memory);
}
#endif

// Neighbours in memory, moved by one instruction.
template <typename T, int kVector>
struct alignas(sizeof(T) * kVector > 16 ? 16 : sizeof(T) * kVector) Neighbours {
  T numbers[kVector];
};

template <int kVector, typename T>
ROFORMER_INLINE Neighbours<T, kVector> read_neighbours(const T* from) {
  return *reinterpret_cast<const Neighbours<T, kVector>*>(from);
}
template <int kVector, typename T>
ROFORMER_INLINE void load_neighbours(const Neighbours<T, kVector>& read, Accumulate<T>* numbers) {
  for (int i = 0; i < kVector; ++i) numbers[i] = load(read.numbers[i]);
}
template <int kVector, typename T>
ROFORMER_INLINE void load_neighbours(const T* from, Accumulate<T>* numbers) {
  load_neighbours<kVector, T>(read_neighbours<kVector>(from), numbers);
}

template <int kVector, typename T>
ROFORMER_INLINE void store_neighbours(T* to, const Accumulate<T>* numbers) {
  Neighbours<T, kVector> written;
#if ROFORMER_GPU_ROUNDS
  if constexpr (std::is_same_v<T, c10::BFloat16> && kVector % 2 == 0) {
    for (int i = 0; i < kVector; i += 2) {
      const std::uint32_t pair = bfloat16_pair(numbers[i], numbers[i + 1]);
      std::memcpy(written.numbers + i, &pair, sizeof pair);
    }
    *reinterpret_cast<Neighbours<T, kVector>*>(to) = written;
    return;
  }
#endif
  for (int i = 0; i < kVector; ++i) store(written.numbers[i], numbers[i]);
  *reinterpret_cast<Neighbours<T, kVector>*>(to) = written;
}

// Rounds as if the number were stored and loaded again.
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

// Combines `value` over all threads of a warp and returns the result in each of them.
template <typename A, typename Operation>
ROFORMER_INLINE A over_warp(A value, Operation together) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = together(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// The same for a block of whole warps, in an order that only depends on the number of threads.
// `scratch` [32] is shared memory. `nothing` is the neutral value of the operation.
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
