// The head of a language model: BERT's (dense, activation, norm, then a decoder tied to the token
// table, with a bias), or the decoder alone without a bias, as in today's causal models. It is only
// applied to positions that have a loss; in a causal model these are all positions.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/layer_parameters.h"
#include "model/transformer_stack.h"
#include "tensor/operations.h"
#include "tensor/parameters.h"

namespace roformer {

class LanguageHead {
 public:
  LanguageHead(const TransformerStack& stack, ParameterStore& parameters);

  // Cross entropy at the positions. states [P, M], labels [P] int64.
  CrossEntropy loss(const at::Tensor& states, const at::Tensor& labels) const;
  // [P, V] in the parameters' type.
  at::Tensor logits(const at::Tensor& states) const;
  // [V, E]: the decoder's weight.
  const at::Tensor& table() const { return table_; }

 private:
  at::Tensor transform(const at::Tensor& states) const;  // [P, E]

  ModelSettings model_;
  Linear dense_;      // [E, M]; undefined for the decoder alone
  Norm norm_;         // [E]
  at::Tensor table_;  // [V, E], the embedding's if tied
  at::Tensor bias_;   // [V]; constant zeros for the decoder alone
};

}  // namespace roformer
