// AdamW over flat buffers on a GPU, by three kernels. The first sums the gradient's squares. The
// second decides from the sum and the loss whether and how to make the step. The third makes it.
// The host does not wait for the device. The kernels (sources/adamw.cu) also read this file.
#pragma once

#include <cstdint>

#ifndef __CUDACC_RTC__
#include <ATen/core/Tensor.h>
#endif

namespace roformer::gpu {

// Pointers are to the device.
struct AdamWDecision {
  const double* squares = nullptr;  // [kSquareSums], of the gradient of the sum over the targets
  double* gradient_norm = nullptr;  // result: of the gradient of the mean
  bool* skipped = nullptr;          // result: the norm or the loss is not finite
  float* updates = nullptr;         // the number of updates so far
  double* decided = nullptr;        // result: [kDecidedNumbers], for AdamWUpdate
  double targets = 1;
  double clip = 0;  // largest norm of the mean gradient; 0: no clipping
  double beta1 = 0.9;
  double beta2 = 0.999;
};

inline constexpr int kSquareSums = 1024;

inline constexpr int kSkips = 0;          // not 0: the values stay
inline constexpr int kGradientScale = 1;  // clipping and the mean over the targets
inline constexpr int kFirstInverse = 2;   // 1 / (1 - beta1^t)
inline constexpr int kSecondInverse = 3;  // 1 / sqrt(1 - beta2^t)
inline constexpr int kDecidedNumbers = 4;

// A piece of the parameters with one learning rate. Sets the gradient to zero.
template <typename T>
struct AdamWUpdate {
  T* value = nullptr;
  T* gradient = nullptr;
  T* first = nullptr;  // moments
  T* second = nullptr;
  std::int64_t size = 0;
  const double* decided = nullptr;
  double learning_rate = 0;
  double decay = 1;  // factor of the value: 1 - learning rate * weight decay
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

#ifndef __CUDACC_RTC__
// gradient [n], float or double -> partial sums of its squares, [kSquareSums] double.
at::Tensor sums_of_squares(const at::Tensor& gradient);
// loss: a scalar of float or double on the device.
void adamw_decide(const AdamWDecision& work, const at::Tensor& loss);
// T is float or double.
template <typename T>
void adamw_update(const AdamWUpdate<T>& work, at::Device device);
#endif

}  // namespace roformer::gpu
