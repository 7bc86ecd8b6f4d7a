// Products of small bfloat16 matrices on tensor cores. The 32 threads of a warp hold the matrices
// together: a left operand of 16 x 16 in four registers per thread, a right one of 16 x 8 in two,
// and sums of 16 x 8 in four floats. The PTX manual (mma.m16n8k16) says which element is where.
// Needs compute capability 8.0; an emulation defines functions of the same names before it includes
// this file.
#pragma once

#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

#ifdef ROFORMER_GPU
// sums += left * right
ROFORMER_INLINE void add_product(float (&sums)[4], const std::uint32_t (&left)[4],
                                 std::uint32_t right_above, std::uint32_t right_below) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_above), "r"(right_below));
}

ROFORMER_INLINE std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Four matrices of 8 x 8 from shared memory: the thread 8 m + r names row r of matrix m, and thread
// t gets from each the neighbours 2 (t % 4) and the next of row t / 4; transposed: of column t / 4.
template <bool kTransposed>
ROFORMER_INLINE void load_matrices(const c10::BFloat16* row, std::uint32_t (&matrices)[4]) {
  const std::uint32_t address = shared_address(row);
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(address)
                 : "memory");
  }
}

// Begins to copy kBytes from global to shared memory, or zeros if the source is missing. This
// thread has them after wait_for_copies(), the others after the block's next barrier.
template <int kBytes>
ROFORMER_INLINE void begin_copy(void* to, const void* from, bool there) {
  const int bytes = there ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(from), "n"(kBytes), "r"(bytes)
                 : "memory");
  }
}
ROFORMER_INLINE void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
#endif

// `kCount` rows of kWidth numbers, with distance kStride between rows, so that the same columns of
// eight rows are in different banks.
template <int kWidth>
inline constexpr int kStride = kWidth + 8;

// Begins to copy `there` rows from global memory; the other rows become zero. All kThreads threads
// of a block take part. The first row must exist.
template <int kWidth, int kCount, int kThreads>
ROFORMER_INLINE void begin_rows(c10::BFloat16* to, const c10::BFloat16* from, std::int64_t row,
                                std::int64_t there) {
  constexpr int kVector = 8, kVectors = kWidth / kVector, kAll = kCount * kVectors;
#pragma unroll
  for (int before = 0; before < kAll; before += kThreads) {
    const int i = before + static_cast<int>(threadIdx.x);
    if (kAll % kThreads != 0 && i >= kAll) break;
    const int r = i / kVectors, column = i % kVectors * kVector;
    const bool is_there = r < there;
    begin_copy<16>(to + r * kStride<kWidth> + column, from + (is_there ? r * row : 0) + column,
                   is_there);
  }
}

// Sums of a warp's 16 rows and kColumns columns. Thread t holds rows t / 4 (elements 0, 1) and t /
// 4 + 8 (2, 3), and in group n the columns 8 n + 2 (t % 4) and the next.
template <int kColumns>
struct RowSums {
  float groups[kColumns / 8][4] = {};
};

// sums += left right^T for 16 rows on the left and kCount on the right, all of kWidth in shared
// memory.
template <int kWidth, int kCount>
ROFORMER_INLINE void add_products_of_rows(const c10::BFloat16* left, const c10::BFloat16* right,
                                          RowSums<kCount>& sums) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const c10::BFloat16* const own_left = left + lane % 16 * kStride<kWidth> + lane / 16 * 8;
  const c10::BFloat16* const own_right =
      right + (lane / 16 * 8 + lane % 8) * kStride<kWidth> + lane / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < kWidth; k += 16) {
    std::uint32_t a[4];
    load_matrices<false>(own_left + k, a);
#pragma unroll
    for (int n = 0; n < kCount; n += 16) {
      std::uint32_t b[4];
      load_matrices<false>(own_right + n * kStride<kWidth> + k, b);
      add_product(sums.groups[n / 8], a, b[0], b[1]);
      add_product(sums.groups[n / 8 + 1], a, b[2], b[3]);
    }
  }
}

// sums += factors rows. The factors of 16 rows and kCount columns are rounded to bfloat16; `rows`
// are kCount rows of kWidth in shared memory.
template <int kWidth, int kCount>
ROFORMER_INLINE void add_weighted_rows(const RowSums<kCount>& factors, const c10::BFloat16* rows,
                                       RowSums<kWidth>& sums) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const c10::BFloat16* const own = rows + lane % 16 * kStride<kWidth> + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < kCount; k += 16) {
    const auto& before = factors.groups[k / 8];
    const auto& behind = factors.groups[k / 8 + 1];
    const std::uint32_t a[4] = {
        bfloat16_pair(before[0], before[1]), bfloat16_pair(before[2], before[3]),
        bfloat16_pair(behind[0], behind[1]), bfloat16_pair(behind[2], behind[3])};
#pragma unroll
    for (int n = 0; n < kWidth; n += 16) {
      std::uint32_t b[4];
      load_matrices<true>(own + k * kStride<kWidth> + n, b);
      add_product(sums.groups[n / 8], a, b[0], b[1]);
      add_product(sums.groups[n / 8 + 1], a, b[2], b[3]);
    }
  }
}

// Writes `there` of a warp's 16 rows to global memory as bfloat16. Each of the thread's two rows is
// multiplied by its factor.
template <int kWidth>
ROFORMER_INLINE void store_rows(const RowSums<kWidth>& sums, const float (&factors)[2],
                                c10::BFloat16* to, std::int64_t row, std::int64_t there) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int half = 0; half < 2; ++half) {
    const int r = lane / 4 + 8 * half;
    if (r >= there) continue;
    c10::BFloat16* const target = to + r * row + lane % 4 * 2;
    for (int n = 0; n < kWidth; n += 8) {
      *reinterpret_cast<std::uint32_t*>(target + n) =
          bfloat16_pair(sums.groups[n / 8][2 * half] * factors[half],
                        sums.groups[n / 8][2 * half + 1] * factors[half]);
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
