// Rotating pairs of features by tables of cosines and sines: the one operation behind every rotary
// scheme. Which angles, and why, is the business of position/.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
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

// The loop itself, on raw rows. `heads` [count, width] blocks in each of the tokens' rows; token t
// is at position t % L of the tables. Adds a bias [count * width] first where one is given.
struct RotationRows {
  at::Tensor source;  // last dimension contiguous
  std::int64_t source_offset = 0, source_row = 0, source_head = 0;
  at::Tensor destination;  // may share source's memory where the positions are the same
  std::int64_t destination_offset = 0, destination_row = 0, destination_head = 0;
  std::int64_t tokens = 0, heads = 0, width = 0;
  at::Tensor bias;                     // [heads * width] or undefined
  const Rotation* rotation = nullptr;  // null: copy (and bias) only
  bool inverse = false;
};
void rotate_rows(const RotationRows& rows);
// Parts of the same tokens, three at most, side by side in one destination. Adds the sums over the
// tokens of what was written to `sums`, of as many columns as the parts have together, float or
// double, where it is defined.
void rotate_parts(const std::vector<RotationRows>& parts, const at::Tensor& sums = {});

}  // namespace roformer
