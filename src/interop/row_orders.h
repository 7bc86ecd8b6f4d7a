// Orders of rows and features in which other programs keep a weight that is the same model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

// Rows [3H * D, ...] between GPT-NeoX's order, [H, 3, D], and ours, [3, H, D].
at::Tensor heads_apart(const at::Tensor& theirs, std::int64_t heads);
at::Tensor heads_together(const at::Tensor& ours, std::int64_t heads);

// Rows of the first `heads` blocks of `head_width` in the order in which a rotation of halves gives
// the scores that one of neighbours gave: `rotated` features of each block are in pairs.
at::Tensor neighbours_to_halves(const at::Tensor& rows, std::int64_t heads, std::int64_t head_width,
                                std::int64_t rotated);

// Features in turns (sine, cosine, sine, ...) as all sines, then all cosines.
at::Tensor turns_to_halves(const at::Tensor& value, std::int64_t dimension);

// The table that transformers keeps among the weights: [positions, features] float32, the sines of
// position * 10000^(-2i / features) for each pair i in the first half, the cosines in the second.
at::Tensor sines_and_cosines(std::int64_t positions, std::int64_t features);

}  // namespace roformer
