// The rows of one head, and what of them some queries see.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "base/error.h"

namespace roformer {

// The rows of one head in a [T, H * D] view.
template <typename M>
struct HeadRows {
  M* data = nullptr;  // of the view's first row
  std::int64_t row = 0;

  HeadRows(const at::Tensor& view, std::int64_t head, std::int64_t width)
      : data(view.data_ptr<M>() + head * width), row(view.stride(0)) {
    ROFORMER_ASSERT(view.dim() == 2 && view.stride(1) == 1);
  }
  M* at(std::int64_t token) const { return data + token * row; }
};

// A part of a head's rows.
template <typename M>
struct RowRange {
  HeadRows<M> rows;
  std::int64_t begin = 0, count = 0;

  M* first() const { return rows.at(begin); }
};

// Neighbouring keys of a segment.
struct SeenKeys {
  std::int64_t skipped = 0, count = 0;
};

// Sums of products on their way to memory, or in it already.
template <typename A>
struct SumRows {
  A* data = nullptr;
  std::int64_t row = 0;
};

}  // namespace roformer
