// Multi-head self-attention layers with their projections, as in the encoder but without anything
// else, for the timings of `roformer bench positions` and `bench attention`. Each pass computes the
// scheme's biases.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/task_facts.h"
#include "position/scheme.h"
#include "tensor/device.h"
#include "tensor/parameters.h"
#include "tensor/token_layout.h"

namespace roformer {

enum class AttentionForm {
  efficient,  // as models compute it
  plain,  // analysis/reference_attention.h: every pair written out, in the parameters' precision
};

class AttentionLayers {
 public:
  // `layers` layers in sequence without anything between them. They share everything that the
  // scheme shares. The settings give sizes, scheme, attention and seed.
  AttentionLayers(const Settings& settings, std::int64_t layers, const ComputePlan& plan);

  // x [sequences * length, M] in the plan's precision -> the same shape.
  at::Tensor forward(const at::Tensor& x, std::int64_t length, AttentionForm form) const;

 private:
  struct Layer {
    at::Tensor projection, projection_bias;  // [3M, M], [3M]
    at::Tensor output, output_bias;          // [M, M], [M]
  };

  Settings settings_;
  ComputePlan plan_;
  ParameterStore parameters_;
  std::vector<Layer> layers_;
  std::unique_ptr<PositionScheme> scheme_;

  bool causal() const { return task_facts(settings_.task).causal; }
  at::Tensor attend_plainly(const at::Tensor& state, const Layer& layer,
                            AttentionContext context) const;
};

// Normally distributed numbers in the plan's precision and on its device.
at::Tensor random_input(const std::vector<std::int64_t>& shape, const ComputePlan& plan);

// Milliseconds of a function of x: only forward or, if slopes are defined, forward and backward
// with these gradients of the output.
double timed_pass(const at::Tensor& x, const at::Tensor& slopes,
                  const std::function<at::Tensor(const at::Tensor&)>& function);
// The most memory that tensors take at once in such a pass, in bytes.
double pass_memory(const at::Tensor& x, const at::Tensor& slopes,
                   const std::function<at::Tensor(const at::Tensor&)>& function);

// "refused: WHY" if the settings contradict each other, else "".
std::string refusal_of(const Settings& settings);

}  // namespace roformer
