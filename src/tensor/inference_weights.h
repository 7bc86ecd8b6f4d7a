// Weight matrices as the products of inference on a CPU read them fastest. Training casts a weight
// to the products' type each time, and the libraries lay it out in blocks each time, since it
// changes; here both are done once, which pays where the rows are few. While a use of them lasts,
// project() takes the form of a weight that has one, without a graph. T tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <unordered_map>

#include "config/training_settings.h"

namespace roformer {

enum class WeightForm {
  fp32,  // laid out by MKL, in about twice the weight's memory
  bf16,  // cast, and laid out by oneDNN
  // By LibTorch's fbgemm: each row of a matrix has a scale of its own, and so has each row of the
  // input, which is quantised as it comes (dynamic quantisation).
  int8,
};

// Of products in this precision.
WeightForm weight_form(Precision precision);

class InferenceWeights {
 public:
  InferenceWeights();
  ~InferenceWeights();
  InferenceWeights(const InferenceWeights&) = delete;
  InferenceWeights& operator=(const InferenceWeights&) = delete;

  // False where this machine's LibTorch has no products of its own for the form.
  static bool available(WeightForm form);

  // weight [out, in] float on the CPU, which must outlive this and no longer change. A form that is
  // not available is refused for int8; bf16 is then only cast, and fp32 stays as it is.
  void add(const at::Tensor& weight, WeightForm form);
  std::size_t size() const { return prepared_.size(); }

  // x [T, in], bfloat16 for a weight in that form and else float -> [T, out] in x's type.
  // Undefined for another type and for a weight that was not added. Not where x wants a gradient.
  at::Tensor project(const at::Tensor& x, const at::Tensor& weight) const;

  // Those in use by this thread, or null.
  static const InferenceWeights* in_use();
  class Use {
   public:
    explicit Use(const InferenceWeights* weights);  // null: none
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const InferenceWeights* before_;
  };

 private:
  struct Prepared {
    std::int64_t out = 0, in = 0;
    at::ScalarType input = at::kFloat;
    std::function<at::Tensor(const at::Tensor& x)> project;
  };
  std::unordered_map<const void*, Prepared> prepared_;  // by the weight's memory
};

}  // namespace roformer
