#include "interop/row_orders.h"

#include <ATen/ops/flip.h>

#include <vector>

#include "config/schemes/sinusoidal.h"
#include "position/positions.h"
#include "position/rotary_table.h"
#include "position/sinusoidal.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

at::Tensor swap_blocks(const at::Tensor& rows, std::int64_t first, std::int64_t second) {
  std::vector<std::int64_t> sizes = rows.sizes().vec();
  sizes[0] = rows.size(0) / (first * second);
  sizes.insert(sizes.begin(), {first, second});
  return rows.reshape(sizes).transpose(0, 1).reshape(rows.sizes());
}

}  // namespace

at::Tensor heads_apart(const at::Tensor& theirs, std::int64_t heads) {
  return swap_blocks(theirs, heads, 3);
}

at::Tensor heads_together(const at::Tensor& ours, std::int64_t heads) {
  return swap_blocks(ours, 3, heads);
}

at::Tensor in_our_order(const at::Tensor& theirs, const RowOrder& order) {
  switch (order.rows) {
    case Size::by_head:
      return heads_apart(theirs, order.heads);
    case Size::distances:
      return at::flip(theirs, 0);
    case Size::padded_positions:
      return theirs.narrow(0, order.of_padding, theirs.size(0) - order.of_padding).clone();
    default:
      return theirs;
  }
}

at::Tensor in_their_order(const at::Tensor& ours, const RowOrder& order) {
  switch (order.rows) {
    case Size::by_head:
      return heads_together(ours, order.heads);
    case Size::distances:
      return at::flip(ours, 0);
    case Size::padded_positions:
      return at::constant_pad_nd(ours, {0, 0, order.of_padding, 0}, 0);
    default:
      return ours;
  }
}

at::Tensor neighbours_to_halves(const at::Tensor& rows, std::int64_t heads, std::int64_t head_width,
                                std::int64_t rotated) {
  std::vector<std::int64_t> order;
  const std::vector<std::int64_t> pairs = half_permutation(rotated);
  for (std::int64_t row = 0; row < rows.size(0); ++row) {
    const std::int64_t feature = row % head_width;
    const bool is_rotated = row / head_width < heads && feature < rotated;
    order.push_back(is_rotated ? row - feature + pairs[static_cast<std::size_t>(feature)] : row);
  }
  return at::index_select(rows, 0, at::tensor(order, at::kLong));
}

at::Tensor turns_to_halves(const at::Tensor& value, std::int64_t dimension) {
  const at::Tensor pairs = value.unflatten(dimension, {-1, 2});
  return at::cat({pairs.select(dimension + 1, 0), pairs.select(dimension + 1, 1)}, dimension);
}

at::Tensor sines_and_cosines(std::int64_t positions, std::int64_t features) {
  return sinusoid_table(Positions::range(0, positions), features, 10000, SinusoidalLayout::concat)
      .to(at::kFloat);
}

}  // namespace roformer
