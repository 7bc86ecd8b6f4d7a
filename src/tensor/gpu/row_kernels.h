// The operations on rows of operations.h as our own GPU kernels, on the same structures as the
// CPU's loops (kernels.h). T is float, double or c10::BFloat16. The kernels' compiler also reads
// this file.
#pragma once

#include <cstdint>

#include "tensor/kernels.h"

#ifndef __CUDACC_RTC__
#include <ATen/core/Tensor.h>

#include <vector>
#endif

namespace roformer::gpu {

// Sums of pieces of rows, and the gradients to which they are added.
template <typename A>
struct PieceSums {
  const A* sums = nullptr;  // [pieces, columns], `stride` from one piece to the next
  std::int64_t pieces = 0;
  std::int64_t stride = 0;
  std::int64_t columns = 0;
  A* to = nullptr;  // [columns], added to; null: not wanted
};

inline constexpr int kMostSums = 3;
template <typename A>
struct AllPieceSums {
  PieceSums<A> each[kMostSums];
};

// The parts of rows (queries, keys and values) that one launch rotates.
inline constexpr std::int64_t kMostParts = 3;
inline constexpr int kRotateThreads = 256;  // of a block, at most

template <typename T>
struct RotatedParts {
  kernels::Rotate<T> parts[kMostParts];
  // For each part [groups of threads, heads * width]: the sum of the rows that a group processes.
  // Null: not wanted.
  kernels::Accumulate<T>* sums[kMostParts] = {};
};

#ifndef __CUDACC_RTC__
// Each processes all rows at once. Work is kernels::BiasActivation or kernels::GatedActivation.
template <template <typename> typename Work, typename T>
void activation_forward(const Work<T>& work, std::int64_t rows, at::Device device);
template <template <typename> typename Work, typename T>
void activation_backward(const Work<T>& work, std::int64_t rows, at::Device device);

template <typename T>
void residual_norm_forward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                           at::Device device);
template <typename T>
void residual_norm_backward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                            at::Device device);

// Adds the column sums of the result, part after part, to `sums`, which may be null.
template <typename T>
void rotate(const std::vector<kernels::Rotate<T>>& parts, std::int64_t rows, at::Device device,
            kernels::Accumulate<T>* sums = nullptr);

// Processes all rows of logits, from row.logits on. Labels and results are [rows].
template <typename T>
struct CrossEntropyRows {
  kernels::CrossEntropyRow<T> row;
  std::int64_t rows = 0;
  std::int64_t stride = 0;  // between rows
  const std::int64_t* labels = nullptr;
  double* losses = nullptr;
  double* smoothed = nullptr;
  bool* correct = nullptr;
};
template <typename T>
void cross_entropy(const CrossEntropyRows<T>& work, at::Device device);
#endif

}  // namespace roformer::gpu
