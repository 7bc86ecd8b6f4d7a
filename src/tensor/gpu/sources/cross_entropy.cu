// Softmax cross entropy of rows of logits, which become their gradient. One block of whole warps
// processes one row. If a row fits into the block's shared memory (kShared), it is read and written
// once; otherwise it is read three times and written twice.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// Calls each(column, count) for the thread's groups of kVector columns, of which `count` are below
// `columns`.
template <int kVector, typename Each>
ROFORMER_INLINE void for_groups(int columns, const Each& each) {
  const int step = static_cast<int>(blockDim.x) * kVector;
  int c = static_cast<int>(threadIdx.x) * kVector;
  for (; c + kVector <= columns; c += step) each(c, kVector);
  if (c < columns) each(c, columns - c);
}

// o.logits is row 0, with `stride` between rows; a row's memory extends to a multiple of kVector.
// labels and the results (as in RowLoss) are [rows].
template <typename T, int kVector, bool kShared>
__global__ void __launch_bounds__(1024)
    cross_entropy(CrossEntropyRow<T> o, std::int64_t stride, const std::int64_t* labels,
                  double* losses, double* smoothed, bool* correct) {
  using A = Accumulate<T>;
  __shared__ A scratch[32];
  const std::int64_t row = blockIdx.x;
  const int columns = static_cast<int>(o.columns), label = static_cast<int>(labels[row]);
  const bool counts = label >= 0;
  T* const logits = o.logits + row * stride;
  T* const held = kShared ? reinterpret_cast<T*>(dynamic_shared()) : logits;
  const A lowest = -A(3e38);
  A largest = lowest, sum = 0;
  for_groups<kVector>(columns, [&](int c, int count) {
    A numbers[kVector], bias[kVector];
    load_neighbours<kVector>(logits + c, numbers);
    if (count == kVector) {
      load_neighbours<kVector>(o.bias + c, bias);
    } else {
      for (int i = 0; i < kVector; ++i) bias[i] = i < count ? o.bias[c + i] : A(0);
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i >= count) continue;
      numbers[i] = rounded_to<T>(numbers[i] + bias[i]);
      largest = numbers[i] > largest ? numbers[i] : largest;
      sum += numbers[i];
    }
    store_neighbours<kVector>(held + c, numbers);
  });
  largest = over_block(largest, Largest(), lowest, scratch);  // and everyone's logits are written
  sum = over_block(sum, Sum(), A(0), scratch);
  const A at_label = counts ? load(held[label]) : largest;
  A total = 0, before = 0;
  for_groups<kVector>(columns, [&](int c, int count) {
    A numbers[kVector];
    load_neighbours<kVector>(held + c, numbers);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i >= count) continue;
      total += exponential(numbers[i] - largest);
      if (c + i < label && numbers[i] >= at_label) before = 1;
    }
  });
  total = over_block(total, Sum(), A(0), scratch);
  before = over_block(before, Largest(), A(0), scratch);  // and everyone has read the label's
  const A factor = A(1) / total;
  const A share = static_cast<A>(o.smoothing / static_cast<double>(columns));
  for_groups<kVector>(columns, [&](int c, int count) {
    A numbers[kVector];
    load_neighbours<kVector>(held + c, numbers);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i >= count) continue;
      numbers[i] = exponential(numbers[i] - largest) * factor - share;
      if (c + i == label) numbers[i] -= static_cast<A>(1 - o.smoothing);
      if (!counts) numbers[i] = A(0);
    }
    store_neighbours<kVector>(logits + c, numbers);
  });
  if (threadIdx.x != 0) return;
  const double logarithm = std::log(static_cast<double>(total));
  const double loss = logarithm + static_cast<double>(largest - at_label);
  const double mean = logarithm + static_cast<double>(largest) -
                      static_cast<double>(sum) / static_cast<double>(columns);
  losses[row] = counts ? loss : 0;
  smoothed[row] = counts ? (1 - o.smoothing) * loss + o.smoothing * mean : 0;
  correct[row] = counts && at_label >= largest && before == A(0);
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
