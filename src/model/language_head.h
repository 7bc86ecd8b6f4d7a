// The head of a language model. BERT's: dense, activation, norm, then the decoder, tied to the
// token table, with a bias. Or the decoder alone, without one, as today's causal models have it.
// Only the positions that carry a loss are ever given to it; a causal model uses it at all
// positions.
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
  // [V, E]: what the logits are products with.
  const at::Tensor& table() const { return table_; }

 private:
  at::Tensor transform(const at::Tensor& states) const;  // [P, E]

  ModelSettings model_;
  Linear dense_;      // [E, M]; undefined where there is the decoder alone
  Norm norm_;         // [E]
  at::Tensor table_;  // [V, E], the embedding's where tied
  at::Tensor bias_;   // [V]; zeros that are not trained where there is the decoder alone
};

}  // namespace roformer
