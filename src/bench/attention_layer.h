// One multi-head self-attention layer with its projections, as it stands in the encoder, on its
// own: what `roformer bench positions` times. The scheme's biases are made in each pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "config/settings.h"
#include "config/task_facts.h"
#include "position/scheme.h"
#include "tensor/device.h"
#include "tensor/parameters.h"
#include "tensor/token_layout.h"

namespace roformer {

enum class AttentionForm {
  efficient,  // as models compute it
  plain,      // verify/reference_attention.h: every pair written out, in the parameters' precision
};

class AttentionLayers {
 public:
  // `layers` of them, one behind the other, without anything between; they share what the scheme
  // shares. Sizes, scheme, attention and seed from the settings.
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

}  // namespace roformer
