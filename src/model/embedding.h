// Computes the first layer's input from token ids: token table, token types, scale, the positional
// scheme's term, norm, dropout, and a projection if the table is narrower than the layers. T
// tokens, V vocabulary, E width of the table, M width of the layers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/model_settings.h"
#include "model/sub_layer.h"
#include "tensor/operations.h"
#include "tensor/token_layout.h"

namespace roformer {

struct EmbeddingInputs {
  at::Tensor ids;          // [T] int64
  at::Tensor token_types;  // [T] int64 or undefined
  const TokenLayout& layout;
  // [L, E] for the longest sequence, or [S, L, E] for each; undefined: nothing is added
  at::Tensor positions;
  at::ScalarType type = at::kFloat;
  DropoutSpec dropout;
};

class Embedding {
 public:
  // `table`: another embedding's, shared; undefined: its own.
  Embedding(const ModelSettings& model, bool norm, const ParameterScope& scope,
            const at::Tensor& table = {});

  at::Tensor forward(const EmbeddingInputs& inputs) const;  // [T, M] in inputs.type

  const at::Tensor& table() const { return table_; }  // [V, E]
  std::int64_t width() const { return table_.size(1); }

 private:
  EmbeddingScale scale_;
  double norm_epsilon_;
  at::Tensor table_, types_;  // [V, E], [types, E]
  Norm norm_;                 // undefined: none
  Linear projection_;         // [M, E], undefined where E is M
};

// A token table [V, E] that several embeddings share.
at::Tensor add_token_table(const ModelSettings& model, const ParameterScope& scope);

}  // namespace roformer
