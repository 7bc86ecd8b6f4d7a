// Heads that say one thing of a whole sequence from the state of its first token, or their mean:
// BERT's (pooler: dense and tanh; dropout; classifier), that of Hugging Face's RoFormer (dropout,
// dense, activation, dropout, output), that of its ModernBERT (dense, activation, norm, as in front
// of the language head's decoder and under the same names; dropout; classifier), and a linear one
// (dropout, output). B sequences, M width, C outputs: one a class, or a single score.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/glue_settings.h"
#include "config/model_settings.h"
#include "model/layer_parameters.h"
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
  double norm_epsilon_;
  Linear dense_;   // [M, M]; undefined for the linear head
  Norm norm_;      // [M], of ModernBERT's
  Linear output_;  // [C, M]

  at::Tensor transform(const at::Tensor& states, bool training, std::uint64_t key) const;  // [B, M]
  at::Tensor drop(const at::Tensor& x, bool training, std::uint64_t key, std::uint64_t site) const;
};

}  // namespace roformer
