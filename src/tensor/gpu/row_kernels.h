// The operations on rows of operations.h by kernels of our own on a GPU, on the same structures as
// the CPU's loops (kernels.h). T is float, double or c10::BFloat16. All rows at once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tensor/kernels.h"

namespace roformer::gpu {

template <typename T>
void bias_activation_forward(const kernels::BiasActivation<T>& work, std::int64_t rows,
                             at::Device device);
template <typename T>
void bias_activation_backward(const kernels::BiasActivation<T>& work, std::int64_t rows,
                              at::Device device);

template <typename T>
void gated_activation_forward(const kernels::GatedActivation<T>& work, std::int64_t rows,
                              at::Device device);
template <typename T>
void gated_activation_backward(const kernels::GatedActivation<T>& work, std::int64_t rows,
                               at::Device device);

template <typename T>
void residual_norm_forward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                           at::Device device);
template <typename T>
void residual_norm_backward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                            at::Device device);

// `sums`, which is added to: of the columns of what is written, part after part; or null.
template <typename T>
void rotate(const std::vector<kernels::Rotate<T>>& parts, std::int64_t rows, at::Device device,
            kernels::Accumulate<T>* sums = nullptr);

// Of all rows of logits from work.logits on. labels and results [rows].
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

}  // namespace roformer::gpu
