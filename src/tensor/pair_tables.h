// Pairs of features times tables of their own for each head or sequence, which need not lie on the
// unit circle and may be trained: what rotation.h's one table for all is not enough for.
#pragma once

#include <ATen/core/Tensor.h>

#include "config/schemes/rotary_layout.h"

namespace roformer {

struct PairTables {
  at::Tensor cosine;  // [B or 1, H or 1, L, D / 2], float or double
  at::Tensor sine;
  RotaryLayout layout = RotaryLayout::half;
};

// (a, b) -> (a C - b S, b C + a S) of the pairs of x [B, H, L, D] -> the same shape and type, with
// gradients of x and of the tables. Sums are in the tables' type.
at::Tensor rotated_by_tables(const at::Tensor& x, const PairTables& tables);

}  // namespace roformer
