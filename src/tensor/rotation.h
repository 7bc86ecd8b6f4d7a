// Rotates pairs of features by tables of cosines and sines, for every rotary scheme. The angles
// come from position/.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "config/schemes/rotary_layout.h"

namespace roformer {

struct Rotation {
  at::Tensor cosine;  // [L, width / 2], float or double; a factor other than 1 scales the result
  at::Tensor sine;    // [L, width / 2]
  RotaryLayout layout = RotaryLayout::interleaved;

  std::int64_t width() const { return 2 * cosine.size(1); }  // the first features of a head
};

// x [B, H, L, D] rotated at its L positions -> the same shape. The gradient rotates back.
at::Tensor rotated(const at::Tensor& x, const Rotation& rotation);

// How queries and keys (and values, as the keys) are rotated.
struct RotationPair {
  Rotation query;
  Rotation key;        // the same tensors if keys are rotated like queries
  bool value = false;  // values are rotated like keys
};

// Queries of H heads, keys and values of G, packed in one row for each token: the output of one
// projection, before its bias.
struct PackedHeads {
  at::Tensor projected;              // [T, (H + 2G) * D]
  at::Tensor bias;                   // [(H + 2G) * D] or undefined
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // G

  std::int64_t head_width() const { return projected.size(1) / (heads + 2 * key_value_heads); }
  // Part 0, 1, 2 (q, k, v) of a tensor like `projected`: [T, H * D] or [T, G * D].
  at::Tensor part(const at::Tensor& packed, std::int64_t which) const;
};
struct QueryKeyValue {
  at::Tensor query;  // [T, H, D]
  at::Tensor key;    // [T, G, D]
  at::Tensor value;  // [T, G, D]
};
// Adds the bias and rotates, into new memory; one pass where our loops or kernels run. Tables
// have a row for each token or, for our loops and kernels, one for each position if all texts have
// L tokens.
QueryKeyValue biased_and_rotated(const PackedHeads& packed,
                                 const std::optional<RotationPair>& rotation);
// The same for `rows` [t, (H + 2G) * D], some tokens of a tensor like packed.projected, in place
// and without recording; of `packed` it reads the sizes alone. `inverse`: rotates their gradients
// back. `bias` may be undefined.
void rotate_in_place(const PackedHeads& packed, const at::Tensor& rows, const at::Tensor& bias,
                     const std::optional<RotationPair>& rotation, bool inverse = false);

// The lowest level, a CPU loop or a GPU kernel, on raw rows: each token's row holds `heads` blocks
// of `width` features. Token t is at position t % L of the tables. The bias is added first.
struct RotationRows {
  at::Tensor source;  // last dimension contiguous
  std::int64_t source_offset = 0, source_row = 0, source_head = 0;
  at::Tensor destination;  // may be the source, with the same layout
  std::int64_t destination_offset = 0, destination_row = 0, destination_head = 0;
  std::int64_t tokens = 0, heads = 0, width = 0;
  at::Tensor bias;                     // [heads * width] or undefined
  const Rotation* rotation = nullptr;  // null: copy (and bias) only
  bool inverse = false;
};
void rotate_rows(const RotationRows& rows);
// Parts of the same tokens, three at most, side by side in one destination. If `sums` is defined
// (float or double, a column for each column of the parts), the column sums of the result are added
// to it.
void rotate_parts(const std::vector<RotationRows>& parts, const at::Tensor& sums = {});

// Tables that differ between heads or sequences, need not lie on the unit circle and may be
// trained.
struct PairTables {
  at::Tensor cosine;  // [B or 1, H or 1, L, D / 2], float or double
  at::Tensor sine;
  RotaryLayout layout = RotaryLayout::half;
};

// (a, b) -> (a C - b S, b C + a S) of the pairs of x [B, H, L, D] -> the same shape and type, with
// gradients of x and of the tables. Sums are in the tables' type.
at::Tensor rotated_by_tables(const at::Tensor& x, const PairTables& tables);

}  // namespace roformer
