// Reorders rows and features of weights that other programs store in another order. The model stays
// the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "interop/weight_map.h"

namespace roformer {

// Turns rows [3H * D, ...] from GPT-NeoX's order, [H, 3, D], into ours, [3, H, D].
at::Tensor heads_apart(const at::Tensor& theirs, std::int64_t heads);
at::Tensor heads_together(const at::Tensor& ours, std::int64_t heads);

// How a folder's rows become ours: the order of heads, the order of distances, and rows of padding,
// which ours lack.
struct RowOrder {
  Size rows = Size::none;
  std::int64_t heads = 0;
  std::int64_t of_padding = 0;
};
at::Tensor in_our_order(const at::Tensor& theirs, const RowOrder& order);
at::Tensor in_their_order(const at::Tensor& ours, const RowOrder& order);  // zeros for padding

// Reorders the rows of the first `heads` blocks of `head_width` so that a rotation of halves gives
// the scores that a rotation of neighbours gave. In each block, `rotated` features form pairs.
at::Tensor neighbours_to_halves(const at::Tensor& rows, std::int64_t heads, std::int64_t head_width,
                                std::int64_t rotated);

// Turns alternating features (sine, cosine, sine, ...) into all sines followed by all cosines.
at::Tensor turns_to_halves(const at::Tensor& value, std::int64_t dimension);

// The table that transformers stores among the weights: [positions, features] float32. For each
// pair i, the first half holds the sine of position * 10000^(-2i / features) and the second half
// the cosine.
at::Tensor sines_and_cosines(std::int64_t positions, std::int64_t features);

}  // namespace roformer
