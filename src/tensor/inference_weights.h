// Weight matrices in the layout that products of inference on a CPU read fastest. In training a
// weight changes, so every product casts it and lays it out in blocks again; here both are done
// once, which pays if there are few rows. While a Use lives, project() uses these weights. T
// tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <unordered_map>

#include "config/training_settings.h"
#include "tensor/scoped.h"

namespace roformer {

enum class WeightForm {
  fp32,  // laid out by MKL, in about twice the weight's memory
  // Left as it is, for products of few rows by our loops (few_row_kernels.h).
  fp32_in_place,
  bf16,  // cast, and laid out by oneDNN
  // By our loops (eight_bit_kernels.h), with one scale for each row of the matrix and of the input
  // (dynamic quantisation).
  int8,
};

// The form for products in this precision.
WeightForm weight_form(Precision precision);

class InferenceWeights {
 public:
  InferenceWeights();
  ~InferenceWeights();
  InferenceWeights(const InferenceWeights&) = delete;
  InferenceWeights& operator=(const InferenceWeights&) = delete;

  // False if this machine's LibTorch has no products for the form. Our loops need none.
  static bool available(WeightForm form);

  // weight [out, in] float on the CPU, which must outlive this and not change. If the form is not
  // available, bf16 is only cast and fp32 stays as it is.
  void add(const at::Tensor& weight, WeightForm form);
  std::size_t size() const { return prepared_.size(); }

  // x [T, in] (bfloat16 for a weight in that form, else float) -> [T, out] in x's type. Undefined
  // for another type, for more rows than the form is for, and for a weight that was not added. x
  // must not need a gradient.
  at::Tensor project(const at::Tensor& x, const at::Tensor& weight) const;

  // The weights in use by this thread, or null.
  static const InferenceWeights* in_use();
  class Use {
   public:
    explicit Use(const InferenceWeights* weights);  // null: none

   private:
    Scoped<const InferenceWeights*> scope_;
  };

 private:
  struct Prepared {
    std::int64_t out = 0, in = 0;
    at::ScalarType input = at::kFloat;
    std::int64_t most_rows = 0;
    std::function<at::Tensor(const at::Tensor& x)> project;
  };
  std::unordered_map<const void*, Prepared> prepared_;  // by the weight's memory
};

}  // namespace roformer
