// Softmax attention without its matrix of scores in memory: a few queries at a time against all
// keys that they see, matrix products between loops of our own on a CPU, kernels of our own on a
// GPU (gpu/tiled_attention.h). What a backward pass needs is the output and the logarithm of each
// row's denominator (Dao 2022, FlashAttention, section 3.1).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roformer {

// A sequence of queries and the keys that it sees.
struct AttentionSegment {
  std::int64_t query_begin = 0, query_length = 0;
  std::int64_t key_begin = 0, key_length = 0;
  std::int64_t additive = -1;  // which of `additive`; -1: none
};

struct TiledAttention {
  // Rows of tokens, [Tq, H * D], [Tk, G * D], [Tk, G * D]: any stride between rows. A head of keys
  // and values serves H / G neighbouring heads of queries.
  at::Tensor query, key, value;
  std::vector<AttentionSegment> segments;
  // Added to the scores in the type of their sums, -infinity hides: [1 or H, Lq, Lk], or where it
  // depends on the difference of positions alone [1 or H, Lq + Lk - 1], whose entry Lq - 1 - i + j
  // is that of query i and key j. What such a table hides at its ends costs no work: a window does
  // not pay for the keys outside.
  std::vector<at::Tensor> additive;
  // c, float64 [H, Tk]: the score of query i and key j gets c_i - c_j, where queries and keys are
  // the same tokens; in the place of `additive`, and on a CPU only. Undefined: nothing.
  at::Tensor sums = {};
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  // G; 0: H
  double scale = 1;
  bool causal = false;  // the last query of a segment sees its last key, the one before not
};

// Whether there are products for it on this machine, for heads of that width.
bool can_tile_attention(const at::Tensor& query, std::int64_t head_width);

// Fills output [Tq, H * D] -> [H, Tq], the logarithms of the denominators: infinity, with zeros in
// the output, where a query sees nothing.
at::Tensor tiled_attention_forward(const TiledAttention& attention, const at::Tensor& output);

// Where the gradients go: rows as those of query, [Tk, H * D] for key and value, also where heads
// of queries share them, all overwritten within the segments; those of `additive`, [H, Lq, Lk] or
// [H, Lq + Lk - 1], are added to, an undefined one is not wanted.
struct TiledAttentionGradients {
  at::Tensor query, key, value;
  std::vector<at::Tensor> additive;
  at::Tensor sums = {};  // float64 [H, Tk], overwritten within the segments
};
// A key belongs to one segment. The same numbers for any count of threads, as far as the BLAS's
// products are.
void tiled_attention_backward(const TiledAttention& attention, const at::Tensor& output,
                              const at::Tensor& logarithm, const at::Tensor& output_gradient,
                              const TiledAttentionGradients& gradients);

// Softmax attention for a few queries, as a step of decoding has them: without a product of
// matrices for each head, whose calls cost more than what they compute. On CPUs, without a graph. B
// texts, H heads of queries, G of keys (H a multiple of G), Q queries, L keys, D features of a
// head.

struct FewQueryAttention {
  at::Tensor query;       // [B, H, Q, D]
  at::Tensor key, value;  // [B, G, L, D], each row's features side by side
  at::Tensor additive;    // broadcasts to [B, H, Q, L], -infinity hides; or undefined
  double scale = 1;
};

// Whether there are so few queries that it pays, on a device and in a mode that it is for.
bool can_attend_few(const FewQueryAttention& in);

// -> [B, H, Q, D], a view of [B, Q, H, D]. Zeros where all keys are hidden.
at::Tensor attend_few(const FewQueryAttention& in);

}  // namespace roformer
