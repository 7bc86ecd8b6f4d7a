// Softmax attention that never stores the matrix of scores: a few queries at a time against all
// keys that they see. A CPU alternates matrix products with our loops, a GPU runs our kernels
// (gpu/tiled_attention.h). The backward pass needs the output and the logarithm of each row's
// denominator (Dao 2022, FlashAttention, section 3.1).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tensor/relative_terms.h"

namespace roformer {

// A sequence of queries and the keys that it sees.
struct AttentionSegment {
  std::int64_t query_begin = 0, query_length = 0;
  std::int64_t key_begin = 0, key_length = 0;
  std::int64_t additive = -1;  // which of `additive`; -1: none
};

struct TiledAttention {
  // Rows of tokens, [Tq, H * D], [Tk, G * D], [Tk, G * D], with any stride between rows. A head of
  // keys and values serves H / G neighbouring heads of queries.
  at::Tensor query, key, value;
  std::vector<AttentionSegment> segments;
  // Added to the scores in the accumulating type, -infinity hides: [1 or H, Lq, Lk], or by
  // difference of positions [1 or H, Lq + Lk - 1], with entry Lq - 1 - i + j for query i and key j.
  // Keys that such a table hides at its ends (outside a window, say) cost no work.
  std::vector<at::Tensor> additive;
  // c, float64 [H, Tk]: c_i - c_j is added to the score of query i and key j, which must be the
  // same tokens. Instead of `additive`, on a CPU only. Undefined: nothing.
  at::Tensor sums = {};
  // Terms of relative vectors, on a CPU only. Queries and keys must be the same tokens.
  std::vector<RelativeTerm> relative = {};
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  // G; 0: H
  double scale = 1;
  bool causal = false;  // the last query of a segment sees all its keys, the one before all but one
};

// Whether this machine has the products for heads of that width.
bool can_tile_attention(const at::Tensor& query, std::int64_t head_width);

// Fills output [Tq, H * D]. Returns the logarithms of the denominators, [H, Tq]. A query that sees
// nothing gets infinity, and zeros in the output.
at::Tensor tiled_attention_forward(const TiledAttention& attention, const at::Tensor& output);

// Where the gradients go. query: rows as the query's; key and value: [Tk, H * D], even if heads of
// queries share them; all overwritten within the segments. Those of `additive`, [H, Lq, Lk] or
// [H, Lq + Lk - 1], are added to; undefined: not wanted.
struct TiledAttentionGradients {
  at::Tensor query, key, value;
  std::vector<at::Tensor> additive;
  at::Tensor sums = {};  // float64 [H, Tk], overwritten within the segments
  // The gradient of each term's table, in the accumulating type, is added here; undefined: not
  // wanted.
  std::vector<at::Tensor> relative = {};
};
// A key must belong to one segment only. The result does not depend on the number of threads if the
// BLAS's products do not.
void tiled_attention_backward(const TiledAttention& attention, const at::Tensor& output,
                              const at::Tensor& logarithm, const at::Tensor& output_gradient,
                              const TiledAttentionGradients& gradients);

// Softmax attention of a few queries, as in a decoding step, on CPUs and without gradients. It
// avoids a matrix product for each head, whose call would cost more than its arithmetic. B texts, H
// heads of queries, G of keys (H a multiple of G), Q queries, L keys, D features of a head.
struct FewQueryAttention {
  at::Tensor query;       // [B, H, Q, D]
  at::Tensor key, value;  // [B, G, L, D], with contiguous features
  at::Tensor additive;    // broadcasts to [B, H, Q, L], -infinity hides; or undefined
  double scale = 1;
};

// Whether it supports the device and mode and there are so few queries that it pays.
bool can_attend_few(const FewQueryAttention& in);

// -> [B, H, Q, D], a view of [B, Q, H, D]; zeros if all keys are hidden.
at::Tensor attend_few(const FewQueryAttention& in);

}  // namespace roformer
