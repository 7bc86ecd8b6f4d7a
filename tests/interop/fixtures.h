// The folders that make_fixtures.py wrote, and our own model built from what was read of one.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "interop/hugging_face.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "tensor/parameters.h"
#include "tensor/safetensors.h"

namespace roformer {

inline std::filesystem::path model_folder(const std::string& name) {
  return std::filesystem::path(FIXTURES) / "models" / name;
}

inline StackSettings encoder_of(const Settings& settings) {
  return {.model = settings.model,
          .attention = settings.attention,
          .position = settings.position,
          .training_length = settings.data.length};
}

// Gives every parameter its tensor; both must have the same names.
inline void fill_parameters(ParameterStore& parameters,
                            const std::map<std::string, at::Tensor>& tensors) {
  for (const Parameter& parameter : parameters.all()) {
    at::Tensor target = parameter.value.detach();
    target.copy_(tensors.at(parameter.spec.name));
  }
}

// What transformers computed: two sequences end to end.
struct Expected {
  Safetensors file;

  explicit Expected(const std::string& name) : file(model_folder(name) / "expected.safetensors") {}
  at::Tensor operator[](const std::string& name) const { return file.tensor(name); }

  TokenLayout layout() const {
    const at::Tensor lengths = file.tensor("lengths");
    return TokenLayout::of_lengths(
        {lengths.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(lengths.numel())});
  }
};

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach() - b.detach()).abs().max().item<double>();
}

}  // namespace roformer
