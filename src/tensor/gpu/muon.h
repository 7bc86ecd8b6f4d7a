// The elementwise passes of Muon over flat buffers on a GPU. Its matrix products in between are
// LibTorch's (training/muon.h). Whether and how to make the step is decided by gpu::adamw_decide.
// The kernels (sources/adamw.cu) also read this file.
#pragma once

#include <cstdint>

#ifndef __CUDACC_RTC__
#include <ATen/core/Tensor.h>
#endif

namespace roformer::gpu {

// Adds the gradient to the momentum and puts the matrices to be made orthogonal in the gradient's
// place: zeros if the step is skipped. Pointers are to the device.
template <typename T>
struct MuonMomentum {
  T* gradient = nullptr;
  T* momentum = nullptr;
  std::int64_t size = 0;
  const double* decided = nullptr;  // [kDecidedNumbers] of adamw_decide
  double decay = 0.95;              // of the momentum
  bool nesterov = true;
};

// value = value * decay - step_size * update, unless the step is skipped. Sets the update, which is
// in the gradient's place, to zero.
template <typename T>
struct MuonDescent {
  T* value = nullptr;
  T* update = nullptr;
  std::int64_t size = 0;
  const double* decided = nullptr;
  double step_size = 0;
  double decay = 1;  // 1 - learning rate * weight decay
};

#ifndef __CUDACC_RTC__
// T is float or double.
template <typename T>
void muon_momentum(const MuonMomentum<T>& work, at::Device device);
template <typename T>
void muon_descend(const MuonDescent<T>& work, at::Device device);
#endif

}  // namespace roformer::gpu
