// LibTorch gives some operators their shapes on `meta` tensors in Python only. Here those that the
// program's steps use get them by asking the host's kernel about tensors of zeros. An operator that
// has to look at numbers (item, nonzero) is none of them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace roformer {

inline c10::IValue on_host(const c10::IValue& value) {
  const auto zeros = [](const at::Tensor& x) {
    return x.defined() && x.is_meta() ? at::zeros(x.sizes(), x.options().device(at::kCPU)) : x;
  };
  if (value.isTensor()) return zeros(value.toTensor());
  if (!value.isTensorList()) return value;
  std::vector<at::Tensor> all;
  for (const at::Tensor& x : value.toTensorVector()) all.push_back(zeros(x));
  return all;
}

inline void shapes_of_host(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = operation.schema();
  const std::size_t count = schema.arguments().size();
  const std::vector<c10::IValue> given(stack->end() - static_cast<std::ptrdiff_t>(count),
                                       stack->end());
  torch::jit::drop(*stack, count);
  for (const c10::IValue& value : given) stack->push_back(on_host(value));
  {
    const at::AutoDispatchBelowAutograd plain;
    operation.callBoxed(stack);
  }
  const std::size_t first = stack->size() - schema.returns().size();
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    c10::IValue& result = (*stack)[first + i];
    if (schema.returns()[i].alias_info() != nullptr) {  // what it was given to write to
      const auto written =
          std::ranges::find_if(schema.arguments(), [](const c10::Argument& argument) {
            return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
          });
      const at::Tensor target =
          given[static_cast<std::size_t>(written - schema.arguments().begin())].toTensor();
      target.resize_(result.toTensor().sizes());
      result = target;
    } else if (result.isTensor() && result.toTensor().defined()) {
      const at::Tensor made = result.toTensor();
      result = at::empty_strided(made.sizes(), made.strides(), made.options().device(at::kMeta));
    }
  }
}

// What the kernels of GPUs alone give, as LibTorch's Python part describes them.
using OptionalTensor = std::optional<at::Tensor>;
using OptionalSize = std::optional<c10::SymInt>;
inline std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>
flash_attention_forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const OptionalTensor& query_starts, const OptionalTensor& key_starts,
                        c10::SymInt, c10::SymInt, double, bool, bool, std::optional<double>,
                        OptionalSize, OptionalSize, const OptionalTensor&, const OptionalTensor&) {
  // What the kernel demands of three tensors [tokens, heads, features] of a batch end to end.
  for (const at::Tensor& x : {query, key, value}) {
    TORCH_CHECK(x.dim() == 3 && x.stride(2) == 1 && x.size(2) % 8 == 0 && x.size(2) <= 256);
    TORCH_CHECK(x.scalar_type() == at::kBFloat16 && x.is_meta());
  }
  for (const OptionalTensor& starts : {query_starts, key_starts}) {
    TORCH_CHECK(starts->scalar_type() == at::kInt && starts->dim() == 1 && starts->is_meta());
  }
  const auto whole = query.options().dtype(at::kLong);
  return {at::empty(query.sizes(), query.options()),
          at::empty({query.size(1), query.size(0)}, query.options().dtype(at::kFloat)),
          at::empty({2}, whole), at::empty({}, whole), at::empty({0}, query.options())};
}
inline std::tuple<at::Tensor, at::Tensor, at::Tensor> flash_attention_backward(
    const at::Tensor&, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, c10::SymInt,
    c10::SymInt, double, bool, const at::Tensor&, const at::Tensor&, std::optional<double>,
    OptionalSize, OptionalSize) {
  return {at::empty_like(query), at::empty_like(key), at::empty_like(value)};
}

}  // namespace roformer
