// Heads that say one thing of a whole sequence from the state of its first token, or their mean:
// BERT's (pooler: dense and tanh; dropout; classifier), that of Hugging Face's RoFormer (dropout,
// dense, activation, dropout, output), and a linear one (dropout, output). B sequences, M width, C
// outputs: one a class, or a single score.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/glue_settings.h"
#include "config/model_settings.h"
#include "model/transformer_stack.h"
#include "tensor/parameters.h"

namespace roformer {

struct ClassificationHeadSettings {
  ClassifierHead kind = ClassifierHead::bert;
  std::int64_t outputs = 2;
  double dropout = 0.1;
};

class ClassificationHead {
 public:
  ClassificationHead(const ClassificationHeadSettings& settings, const TransformerStack& stack,
                     ParameterStore& parameters);

  // states [B, M], one a sequence, in any floating type; `key` of the dropout, which is only
  // applied when training. -> [B, C] in the parameters' type.
  at::Tensor forward(const at::Tensor& states, bool training, std::uint64_t key) const;

  std::int64_t outputs() const { return settings_.outputs; }

 private:
  ClassificationHeadSettings settings_;
  ActivationKind activation_;
  at::Tensor dense_, dense_bias_;    // [M, M], [M]; undefined for the linear head
  at::Tensor output_, output_bias_;  // [C, M], [C]
};

}  // namespace roformer
