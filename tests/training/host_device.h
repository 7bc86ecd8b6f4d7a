// A device for tests that need one beside the CPU: its memory is the host's, and its operations are
// the CPU's on copies. It is LibTorch's PrivateUse1, which programs may define.
#pragma once

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>

namespace roformer::host_device {

inline const at::Device kDevice(c10::kPrivateUse1, 0);

class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const memory = bytes == 0 ? nullptr : std::malloc(bytes);
    return {memory, memory, &std::free, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

inline Memory& memory() {
  static Memory memory;
  return memory;
}

constexpr c10::DispatchKeySet kKey(c10::DispatchKey::PrivateUse1);

inline at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
                        std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                        std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory(), kKey, type.value_or(at::kFloat), format);
}

inline at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef strides,
                                std::optional<at::ScalarType> type, std::optional<at::Layout>,
                                std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, strides, &memory(), kKey,
                                           type.value_or(at::kFloat));
}

// The same memory as a tensor of the CPU.
inline at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.scalar_type()));
}

inline at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  on_host(to).copy_(on_host(from));
  return to;
}

// The results of operations with an output begin without elements.
inline at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) {
    const at::Tensor resized =
        at::detail::empty_generic(from.sizes(), &memory(), kKey, to.scalar_type(), std::nullopt);
    to.unsafeGetTensorImpl()->set_storage_keep_dtype(resized.storage());
    to.unsafeGetTensorImpl()->set_sizes_contiguous(from.sizes());
  }
  return copy_from(from, to, false);
}

inline void by_cpu(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
}

}  // namespace roformer::host_device
