// Attention as the papers write it. It is large and slow on purpose: efficient forms are tested and
// timed against it. It has one score matrix over all pairs of positions, vectors of distances
// gathered for every pair as [L, L, D], and rotations as matrix products. Linear attention stores
// the state after every key.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "attention/linear_attention.h"
#include "position/scheme.h"

namespace roformer {

struct ReferenceAttentionInputs {
  at::Tensor query;  // [B, H, L, D], not rotated
  at::Tensor key;    // [B, H, L, D]
  at::Tensor value;  // [B, H, L, D]
  const PositionScheme& scheme;
  const PositionSettings& settings;  // that the scheme was made with
  const ParameterStore& parameters;  // that it added its own to
  AttentionContext context;          // without a mask
  at::Tensor token_inputs = {};      // [B, H, L, F], the scheme's token_inputs()
};

// Softmax attention -> [B, H, L, D].
at::Tensor reference_attention(const ReferenceAttentionInputs& inputs);

// Approximately the most numbers in memory at once in a forward and backward pass.
struct ReferenceAttentionSize {
  std::int64_t batch = 0, heads = 0, length = 0, head_width = 0;
};
double reference_attention_numbers(const PositionSettings& settings,
                                   const ReferenceAttentionSize& size);

// Queries and keys are the same positions; value [B, H, L, D] -> [B, H, L, D]. Holds numbers for
// [B, H, L, F, D].
at::Tensor cumulative_linear_attention(const LinearFeatures& features, const at::Tensor& value);

// The terms of a scheme for each pair of positions: its definition, written independently of the
// scheme's own file.
struct PairVectors {
  at::Tensor for_query;     // [L, L, D] or [H, L, L, D]: query_i . vector_ij is added to the scores
  at::Tensor for_key;       // the same with key_j
  at::Tensor for_value;     // [L, L, D]: the probabilities' sums of vector_ij are added
  at::Tensor query_bias;    // [H, D] added to the query where it meets for_query
  at::Tensor content_bias;  // [H, D] added to the query where it meets the key
  // Weights that replace the softmax, [B, H, L, L], and the term that is added to the output for
  // them.
  std::function<at::Tensor(const at::Tensor& scores)> weights;
  std::function<at::Tensor(const at::Tensor& weights)> remainder_term;
  // Scores that are not a sum of such terms; undefined otherwise.
  std::function<at::Tensor()> scores;
};

// The distance that a remapping scheme counts between query i and key j.
std::function<double(std::int64_t i, std::int64_t j)> counted_distance(
    const PositionSettings& settings);

// Empty for schemes without such terms.
PairVectors pair_vectors(const ReferenceAttentionInputs& inputs);

}  // namespace roformer
