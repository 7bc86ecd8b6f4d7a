// Softmax cross entropy of rows of logits, which become their gradient. One block of whole warps a
// row; the row is read from memory three times and written twice.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// o.logits is row 0, the next one `stride` behind it; labels and the results, which are those of
// RowLoss, [rows].
template <typename T>
__global__ void cross_entropy(CrossEntropyRow<T> o, std::int64_t stride,
                              const std::int64_t* labels, double* losses, double* smoothed,
                              bool* correct) {
  using A = Accumulate<T>;
  __shared__ A scratch[32];
  const std::int64_t row = blockIdx.x, columns = o.columns, label = labels[row];
  T* const logits = o.logits + row * stride;
  const A lowest = -A(3e38);
  A largest = lowest, sum = 0;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    store(logits[c], load(logits[c]) + o.bias[c]);
    const A logit = load(logits[c]);
    largest = logit > largest ? logit : largest;
    sum += logit;
  }
  largest = over_block(largest, Largest(), lowest, scratch);  // and everyone's logits are written
  sum = over_block(sum, Sum(), A(0), scratch);
  const A at_label = load(logits[label]);
  A total = 0, before = 0;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const A logit = load(logits[c]);
    total += exponential(logit - largest);
    if (c < label && logit >= at_label) before = 1;
  }
  total = over_block(total, Sum(), A(0), scratch);
  before = over_block(before, Largest(), A(0), scratch);  // and everyone has read the label's
  const A factor = A(1) / total;
  const A share = static_cast<A>(o.smoothing / static_cast<double>(columns));
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    A gradient = exponential(load(logits[c]) - largest) * factor - share;
    if (c == label) gradient -= static_cast<A>(1 - o.smoothing);
    store(logits[c], gradient);
  }
  if (threadIdx.x != 0) return;
  const double logarithm = std::log(static_cast<double>(total));
  const double loss = logarithm + static_cast<double>(largest - at_label);
  const double mean = logarithm + static_cast<double>(largest) -
                      static_cast<double>(sum) / static_cast<double>(columns);
  losses[row] = loss;
  smoothed[row] = (1 - o.smoothing) * loss + o.smoothing * mean;
  correct[row] = at_label >= largest && before == A(0);
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
