// The operations on rows of operations.h by kernels of our own on a GPU, on the same structures as
// the CPU's loops (kernels.h). T is float, double or c10::BFloat16. All rows at once; what a loop
// adds to gradients of columns is returned.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tensor/kernels.h"

namespace roformer::gpu {

template <typename T>
void bias_activation_forward(const kernels::BiasActivation<T>& work, std::int64_t rows,
                             at::Device device);
// The gradient of the bias [columns].
template <typename T>
at::Tensor bias_activation_backward(const kernels::BiasActivation<T>& work, std::int64_t rows,
                                    at::Device device);

template <typename T>
void gated_activation_forward(const kernels::GatedActivation<T>& work, std::int64_t rows,
                              at::Device device);
// The gradient of the bias [2 * columns].
template <typename T>
at::Tensor gated_activation_backward(const kernels::GatedActivation<T>& work, std::int64_t rows,
                                     at::Device device);

template <typename T>
void residual_norm_forward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                           at::Device device);
// The gradients of bias, gain and shift [3, columns].
template <typename T>
at::Tensor residual_norm_backward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                                  at::Device device);

template <typename T>
void rotate(const kernels::Rotate<T>& work, std::int64_t rows, at::Device device);

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
