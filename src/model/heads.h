// The heads of language models and classifiers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/glue_settings.h"
#include "config/model_settings.h"
#include "model/sub_layer.h"
#include "model/transformer_stack.h"
#include "tensor/operations.h"
#include "tensor/parameters.h"

namespace roformer {

// The head of a language model: BERT's (dense, activation, norm, then a decoder tied to the token
// table, with a bias), or the decoder alone without a bias, as in today's causal models. It is only
// applied to positions that have a loss; in a causal model these are all positions.
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

// Heads that classify or score a whole sequence from the state of its first token or the mean of
// all states: BERT's (pooler: dense and tanh; dropout; classifier), RoFormer's of Hugging Face
// (dropout, dense, activation, dropout, output), ModernBERT's (dense, activation, norm, named like
// the layers before the language head's decoder; dropout; classifier), RoBERTa's (as BERT's, with
// dropout first), DistilBERT's (as BERT's, with relu), and a linear one (dropout, output). B
// sequences, M width, C outputs: one for each class, or a single score.
struct ClassificationHeadSettings {
  ClassifierHead kind = ClassifierHead::bert;
  std::int64_t outputs = 2;
  double dropout = 0.1;
};

class ClassificationHead {
 public:
  ClassificationHead(const ClassificationHeadSettings& settings, const TransformerStack& stack,
                     ParameterStore& parameters);

  // states [B, M] of any floating type; `key`: the random key of the dropout, applied only when
  // training; `first_row`: the number of row 0 among all rows of the key. -> [B, C] in the
  // parameters' type.
  at::Tensor forward(const at::Tensor& states, bool training, std::uint64_t key,
                     std::int64_t first_row = 0) const;

  std::int64_t outputs() const { return settings_.outputs; }

 private:
  ClassificationHeadSettings settings_;
  ActivationKind activation_;
  double norm_epsilon_;
  Linear dense_;   // [M, M]; undefined for the linear head
  Norm norm_;      // [M], of ModernBERT's
  Linear output_;  // [C, M]

  struct Mode {
    bool training = false;
    std::uint64_t key = 0;
    std::int64_t first_row = 0;
  };
  at::Tensor transform(const at::Tensor& states, const Mode& mode) const;  // [B, M]
  at::Tensor drop(const at::Tensor& x, const Mode& mode, std::uint64_t site) const;
};

}  // namespace roformer
