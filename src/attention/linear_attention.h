// Linear attention replaces exp(q.k) by a product of feature maps, so that time and memory grow
// linearly with the length. Rotary positions rotate the feature maps in the numerator only
// (RoFormer eq. 19), or q and k before the feature maps (the Performer's code). Section 12.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "config/attention_settings.h"
#include "position/scheme.h"
#include "tensor/scoped.h"

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

// Features and attention of whole texts, in which every token is a query and a key. On CPUs it is
// one operation (tensor/linear_heads.h). Sums are in float or double, the result in value's type.
at::Tensor attend_linearly(const LinearAttentionInputs& inputs, const at::Tensor& value,
                           bool causal);

// The random key of a training step's matrices; it changes every attention.redraw steps. Outside
// training it is 0, so that evaluations are repeatable and comparable.
std::uint64_t favor_key(const AttentionSettings& attention, std::uint64_t seed, std::int64_t step);
// [features, D] float64: orthogonal rows in blocks of D, their lengths those of Gaussian vectors
// (Choromanski 2021). A function of the key.
at::Tensor favor_matrix(std::int64_t features, std::int64_t head_width, std::uint64_t key);

// The recurrent state of causal linear attention: sums over the keys so far, so that every token
// costs the same however long the text is. Results of earlier tokens are not updated. Recomputing
// the whole text instead would use the FAVOR+ stabiliser of all its tokens, and with an epsilon the
// results would differ slightly. B texts, H heads, F features, D head width.
class LinearState {
 public:
  // Adds the tokens at inputs.context.queries and returns their attention output, [B, H, L, D]: the
  // last L rows of linear_attention over the whole text. Requires a scheme that rotates a key only
  // by its own position (CachedKeys::rotated).
  at::Tensor append(const LinearAttentionInputs& inputs, const at::Tensor& value);

  // Text i continues the old text sources[i].
  void reorder(std::span<const std::int64_t> sources);

 private:
  LinearSums sums_;
  // A feature of FAVOR+ is share * (exp(x - stabiliser) + epsilon), with the stabiliser the largest
  // x of all keys so far: when that grows, all of a sum shrinks but the epsilon's part of it.
  LinearSums constants_;
  at::Tensor stabilizer_;  // [B, H, 1, 1]; undefined: the features have none

  void shrink(const at::Tensor& stabilizer);
};

// Counts how close the denominators of linear attention are to zero. While a DenominatorCheck
// lives, it counts the denominators that its thread computes. Feature maps are positive, so a
// denominator is small only relative to its bound, |phi(q)| times the sum of |phi(k)|. If RoPE
// rotates only the numerator (RoFormer eq. 19), the numerator can reach that bound: a denominator
// at a hundredth of it lets the weights of a token sum to a hundred instead of one.
struct DenominatorFigures {
  std::int64_t count = 0;
  std::int64_t small = 0;  // below kSmallDenominator of their bound
  double least = 1;        // the smallest ratio of a denominator to its bound

  double small_share() const {
    return count > 0 ? static_cast<double>(small) / static_cast<double>(count) : 0;
  }
};

inline constexpr double kSmallDenominator = 0.01;

class DenominatorCheck {
 public:
  // Waits for the device.
  DenominatorFigures figures() const;

  // Linear attention computes the bound only if a check is wanted.
  static bool wanted() { return present_ != nullptr; }
  // Both of one shape. Entries with bound 0 (no visible key) are not counted.
  static void look(const at::Tensor& denominator, const at::Tensor& bound);

 private:
  static inline constinit thread_local DenominatorCheck* present_ = nullptr;
  Scoped<DenominatorCheck*> scope_{present_, this};
  at::Tensor count_, small_, least_;  // of one number, on the device; undefined: none yet
};

}  // namespace roformer
