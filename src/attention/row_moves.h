// Reorders the rows of a batch in place: beam search continues some rows several times and drops
// others. Only rows that change are copied.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace roformer {

class RowMoves {
 public:
  // Row i of the result is row sources[i] of the `rows` there are.
  RowMoves(std::span<const std::int64_t> sources, std::int64_t rows);

  // True if every row keeps its place.
  bool nothing() const { return copies_.empty() && count() == rows_; }
  std::int64_t count() const { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t copies() const { return static_cast<std::int64_t>(copies_.size()); }

  // `memory` [rows, ..., capacity, D] -> [count(), ..., capacity, D], the same memory if it has
  // enough rows. Only the first `used` positions of dimension 2 are copied.
  at::Tensor apply(const at::Tensor& memory, std::int64_t used) const;

 private:
  struct Copy {
    std::int64_t from = 0, to = 0;
  };
  static constexpr std::int64_t kSpare = -1;  // a temporary row outside the memory

  std::vector<std::int64_t> sources_;
  std::int64_t rows_;
  std::vector<Copy> copies_;  // ordered so that every row is read before it is overwritten

  void copy_heads(const at::Tensor& memory, std::int64_t used) const;
};

}  // namespace roformer
