// The masked-language-model head of BERT: dense, activation, LayerNorm, then the decoder tied to
// the token table, with a bias. Only the places that carry a loss are ever given to it. A causal
// language model uses the same head at all places.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/transformer_stack.h"
#include "tensor/operations.h"
#include "tensor/parameters.h"

namespace roformer {

class LanguageHead {
 public:
  LanguageHead(const TransformerStack& stack, ParameterStore& parameters);

  // Cross entropy at the places. states [P, M], labels [P] int64.
  CrossEntropy loss(const at::Tensor& states, const at::Tensor& labels) const;
  // [P, V] in the parameters' type.
  at::Tensor logits(const at::Tensor& states) const;

 private:
  at::Tensor transform(const at::Tensor& states) const;  // [P, E]

  ModelSettings model_;
  at::Tensor dense_, dense_bias_;  // [E, M], [E]
  at::Tensor gain_, shift_;        // [E]
  at::Tensor table_, bias_;        // [V, E] the embedding's, [V]
};

}  // namespace roformer
