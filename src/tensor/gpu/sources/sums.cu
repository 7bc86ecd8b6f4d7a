// Adds the sums that many blocks computed for their rows to the gradients.
#include "tensor/gpu/row_kernels.h"
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// A block of 32 warps has 32 columns (blockIdx.x) of one of the sums (blockIdx.y). Each warp adds
// every 32nd piece, and the first warp adds the sums of all warps.
template <typename A>
__global__ void add_pieces(gpu::AllPieceSums<A> all) {
  constexpr unsigned kWarps = 32;
  __shared__ A sums[kWarps][32];
  const gpu::PieceSums<A> o = blockIdx.y == 0   ? all.each[0]
                              : blockIdx.y == 1 ? all.each[1]
                                                : all.each[2];  // an index would need a copy of all
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  const bool wanted = o.to != nullptr && column < o.columns;
  A sum = 0;
  if (wanted) {
#pragma unroll 8
    for (std::int64_t piece = warp; piece < o.pieces; piece += kWarps) {
      sum += o.sums[piece * o.stride + column];
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || !wanted) return;
  for (unsigned other = 1; other < kWarps; ++other) sum += sums[other][lane];
  o.to[column] += sum;
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
