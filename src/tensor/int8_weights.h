// Weight matrices in eight bits for inference on CPUs: each row of a matrix has a scale of its own,
// and the inputs of a product are quantised as they come, all rows of a call alike (dynamic
// quantisation, by LibTorch's fbgemm). While a use of them lasts, project() takes the eight-bit
// copy of a weight that has one. T tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <unordered_map>

namespace roformer {

class Int8Weights {
 public:
  Int8Weights();
  ~Int8Weights();
  Int8Weights(const Int8Weights&) = delete;
  Int8Weights& operator=(const Int8Weights&) = delete;

  // False where this machine's LibTorch has no kernels for it.
  static bool available();

  // weight [out, in] float on the CPU, which must outlive this and no longer change.
  void add(const at::Tensor& weight);
  std::size_t size() const { return packed_.size(); }

  // x [T, in] float -> [T, out], or undefined for a weight that was not added.
  at::Tensor project(const at::Tensor& x, const at::Tensor& weight) const;

  // Those in use by this thread, or null.
  static const Int8Weights* in_use();
  class Use {
   public:
    explicit Use(const Int8Weights* weights);  // null: none
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const Int8Weights* before_;
  };

 private:
  struct Packed;
  std::unordered_map<const void*, std::unique_ptr<Packed>> packed_;  // by the weight's memory
};

}  // namespace roformer
