// Which rows of a batch take the place of which: beam search goes on with some rows several times
// and with others never. In memory that has one row for each, only rows that change are copied.
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

  // Every row stays where it is, and none is dropped.
  bool nothing() const { return copies_.empty() && count() == rows_; }
  std::int64_t count() const { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t copies() const { return static_cast<std::int64_t>(copies_.size()); }

  // `memory` [rows, ..., capacity, D], of which the first `used` positions of dimension 2 count ->
  // [count(), ..., capacity, D]: the same memory where it has rows enough.
  at::Tensor apply(const at::Tensor& memory, std::int64_t used) const;

 private:
  struct Copy {
    std::int64_t from = 0, to = 0;
  };
  static constexpr std::int64_t kSpare = -1;  // the one row beside the memory

  std::vector<std::int64_t> sources_;
  std::int64_t rows_;
  std::vector<Copy> copies_;  // in an order in which nothing is overwritten before it is read

  void copy_heads(const at::Tensor& memory, std::int64_t used) const;
};

}  // namespace roformer
