// The losses of embeddings over the vectors of a batch of pairs or triplets. B examples, M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "config/embedding_settings.h"
#include "data/embedding_examples.h"

namespace roformer {

// The vectors of the examples' texts, each [B, M] float.
struct ExampleVectors {
  at::Tensor first, second;
  at::Tensor negative = {};  // undefined for pairs
};

// Sums over the examples, a scalar with a graph on the vectors' device.
//
// in_batch: -log softmax over all candidates of cos(first, candidate) / temperature, at the own
// partner (van den Oord 2018, eq. 4; MultipleNegativesRankingLoss of sentence-transformers). The
// candidates are the partners and negatives of the batch. A candidate that is the same text as the
// first text or its partner is no negative. `symmetric` averages it with the loss of finding the
// first text of each partner among all first texts.
//
// cosine: (cos(first, second) - score / scale)^2 (Reimers 2019, section 3).
at::Tensor embedding_loss_sum(const EmbeddingSettings& settings,
                              std::span<const EmbeddingExample> examples,
                              const ExampleVectors& vectors, double scale);

// The cosine of each example's two texts, [B].
at::Tensor example_cosines(const ExampleVectors& vectors);

}  // namespace roformer
