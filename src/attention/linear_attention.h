// Linear attention replaces exp(q.k) by a product of feature maps, so that time and memory grow
// linearly with the length. Rotary positions rotate the feature maps in the numerator only
// (RoFormer eq. 19), or q and k before the feature maps (the Performer's code). Section 12.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

struct LinearAttentionInputs {
  at::Tensor query;  // [B, H, Lq, D]
  at::Tensor key;    // [B, H, Lk, D]
  const PositionScheme& scheme;
  const AttentionSettings& attention;
  AttentionContext context;  // its mask: undefined or of keys, [B, 1, 1, Lk]
  at::Tensor matrix;         // [F, D] of FAVOR+; undefined for elu
  // A lower bound for FAVOR+'s stabiliser of the keys, [B, H, 1, 1]: the stabiliser of earlier
  // keys.
  at::Tensor least_stabilizer;
};

struct LinearFeatures {
  at::Tensor query, key;                  // [B, H, L, F]: of the denominator
  at::Tensor rotated_query, rotated_key;  // of the numerator
  at::Tensor stabilizer;                  // [B, H, 1, 1] of the keys, or undefined
};
LinearFeatures linear_features(const LinearAttentionInputs& inputs);

// Sums over earlier keys.
struct LinearSums {
  at::Tensor numerator;    // [B, H, F, D]: of rotated features times values
  at::Tensor denominator;  // [B, H, 1, F]: of features
};

// sum over j of num_ij v_j / den_i, causal: over the keys up to the query, where the queries are
// the last Lq positions. value [B, H, Lk, D] -> [B, H, Lq, D].
at::Tensor linear_attention(const LinearFeatures& features, const at::Tensor& value, bool causal,
                            const LinearSums& before = {});

// sum over j of query_i.key_j: [B, H, Lq, 1].
at::Tensor linear_denominator(const LinearFeatures& features, bool causal,
                              const LinearSums& before = {});

// The random key of a training step's matrices; it changes every attention.redraw steps. Outside
// training it is 0, so that evaluations are repeatable and comparable.
std::uint64_t favor_key(const AttentionSettings& attention, std::uint64_t seed, std::int64_t step);
// [features, D] float64: orthogonal rows in blocks of D, their lengths those of Gaussian vectors
// (Choromanski 2021). A function of the key.
at::Tensor favor_matrix(std::int64_t features, std::int64_t head_width, std::uint64_t key);

}  // namespace roformer
