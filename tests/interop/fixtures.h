// The folders that make_fixtures.py wrote, and our own model built from what was read of one.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interop/import.h"
#include "interop/row_orders.h"
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

// The parameters of a group of the family's weights.
inline std::vector<FolderWeight> weights_of(const PretrainedModel& model,
                                            const WeightGroup& group) {
  const std::int64_t rows = model.settings.model.vocabulary;
  return expand_weights(group, model.settings, {.vocabulary = rows});
}

// transformers' gradient of each tensor against the rows of ours that it is. A table of positions
// may have rows for padding before ours.
inline void compare_gradients(
    const Expected& expected, const ParameterStore& parameters, const PretrainedModel& model,
    const WeightGroup& group,
    const std::function<void(const std::string& theirs, const at::Tensor& ours,
                             const at::Tensor& wanted)>& compare) {
  for (const FolderWeight& weight : weights_of(model, group)) {
    at::Tensor gradient = parameters.find(weight.ours)->value.grad();
    const std::string first =
        "gradient." + model.family->stored_name(group, weight.parts[0].theirs);
    const bool padded = weight.shape.rows == Size::padded_positions;
    gradient = in_their_order(
        gradient, {.rows = weight.shape.rows,
                   .heads = model.settings.model.heads,
                   .of_padding = padded ? expected[first].size(0) - gradient.size(0) : 0});
    if (weight.shape.transposed) gradient = gradient.t();
    std::int64_t row = 0;
    for (const FolderWeight::Part& part : weight.parts) {
      const std::string theirs = "gradient." + model.family->stored_name(group, part.theirs);
      const at::Tensor wanted = expected.file.contains(theirs) ? expected[theirs] : at::Tensor();
      const std::int64_t rows = wanted.defined() ? wanted.size(0) : 0;
      compare(theirs, gradient.narrow(0, row, rows), wanted);
      row += rows;
    }
  }
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach() - b.detach()).abs().max().item<double>();
}

}  // namespace roformer
