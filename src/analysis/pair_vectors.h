// What a scheme gives to each pair of positions, gathered for all pairs: its definition, written
// independently of the scheme's own file.
#pragma once

#include <cstdint>
#include <functional>

#include "analysis/reference_attention.h"

namespace roformer {

struct PairVectors {
  at::Tensor for_query;     // [L, L, D] or [H, L, L, D]: query_i . vector_ij is added to the scores
  at::Tensor for_key;       // the same with key_j
  at::Tensor for_value;     // [L, L, D]: the probabilities' sums of vector_ij are added
  at::Tensor query_bias;    // [H, D] added to the query where it meets for_query
  at::Tensor content_bias;  // [H, D] added to the query where it meets the key
  // Weights instead of the softmax, [B, H, L, L], and what is added to the output for them.
  std::function<at::Tensor(const at::Tensor& scores)> weights;
  std::function<at::Tensor(const at::Tensor& weights)> remainder_term;
  // Scores that are no sum of such terms; undefined otherwise.
  std::function<at::Tensor()> scores;
};

// What a scheme that remaps distances counts between query i and key j.
std::function<double(std::int64_t i, std::int64_t j)> counted_distance(
    const PositionSettings& settings);

// Nothing is set for schemes without such terms.
PairVectors pair_vectors(const ReferenceAttentionInputs& inputs);

}  // namespace roformer
