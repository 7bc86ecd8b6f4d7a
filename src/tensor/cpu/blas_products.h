// The matrix products of one head's attention in one segment by the BLAS, from where the rows lie.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor/attention_kernels.h"
#include "tensor/block_products.h"
#include "tensor/cpu/head_rows.h"
#include "tensor/scratch.h"

namespace roformer {

// M in memory, T in products. PanelProducts (panel_products.h) has the same members.
template <typename MemoryType, typename ProductType>
class BlasProducts {
 public:
  using M = MemoryType;
  using T = ProductType;
  using A = kernels::Accumulate<M>;
  using Rows = Operand<T>;  // of queries or of the output's gradient
  // Queries at a time, and the scores that they may have but for the least: the BLAS is slow with
  // few rows (2,048 keys in fp32: 1.5 times as slow with 32 of them).
  static constexpr std::int64_t kLeastQueries = 32, kMostQueries = 128;
  static constexpr std::int64_t kScores = std::int64_t{1} << 20;

  BlasProducts(std::int64_t width, RowRange<M> keys, RowRange<M> values)
      : width_(width),
        keys_(operand(keys, buffers().keys)),
        values_(operand(values, buffers().values)) {}

  // The numbers of `count` queries and the keys that they see lie in rows of this many, and as many
  // of a row are filled.
  static std::int64_t pair_row(std::int64_t seen) { return seen; }
  static std::int64_t padded(std::int64_t seen) { return seen; }
  static std::int64_t pair_rows(std::int64_t count) { return count; }
  static SeenKeys widened(SeenKeys seen) { return seen; }

  Rows queries(RowRange<M> rows) const { return operand(rows, buffers().queries); }
  Rows gradients(RowRange<M> rows) const { return operand(rows, buffers().gradients); }

  // products [count, seen] = rows . keys
  void with_keys(const Rows& rows, std::int64_t count, SeenKeys seen, A* products) const {
    with_transposed(rows, count, behind(keys_, seen.skipped), seen.count, products);
  }
  void with_values(const Rows& rows, std::int64_t count, SeenKeys seen, A* products) const {
    with_transposed(rows, count, behind(values_, seen.skipped), seen.count, products);
  }

  // sums [count, D] = pairs . keys; in `to` where sums are of its type, else in memory of their
  // own.
  SumRows<A> sum_keys(const T* pairs, SeenKeys seen, RowRange<M> to) const {
    return sum(pairs, seen, keys_, to);
  }
  SumRows<A> sum_values(const T* pairs, SeenKeys seen, RowRange<M> to) const {
    return sum(pairs, seen, values_, to);
  }

  // The gradients of keys and values, [keys, D].
  void begin_gradients(RowRange<M> keys, RowRange<M> values) {
    key_sums_ = sums_of(keys, buffers().key_sums);
    value_sums_ = sums_of(values, buffers().value_sums);
  }
  void clear_gradients(std::int64_t keys) const {
    for (const SumRows<A>& sums : {key_sums_, value_sums_}) {
      for (std::int64_t i = 0; i < keys; ++i) std::fill_n(sums.data + i * sums.row, width_, A(0));
    }
  }
  // Those of the seen keys gain slopes^T queries, or become that.
  void add_to_keys(const T* slopes, const Rows& queries, std::int64_t count, SeenKeys seen,
                   bool add) const {
    add_transposed(key_sums_, slopes, queries, count, seen, add);
  }
  // And those of their values probabilities^T gradients.
  void add_to_values(const T* probabilities, const Rows& gradients, std::int64_t count,
                     SeenKeys seen, bool add) const {
    add_transposed(value_sums_, probabilities, gradients, count, seen, add);
  }
  void end_gradients(RowRange<M> keys, RowRange<M> values) const {
    store(key_sums_, keys);
    store(value_sums_, values);
  }

  // Where sums lie elsewhere, to their place.
  void store(const SumRows<A>& sums, RowRange<M> to) const {
    if constexpr (!std::is_same_v<M, A>) {
      loops_.scatter({.from = sums.data,
                      .from_row = sums.row,
                      .to = to.first(),
                      .to_row = to.rows.row,
                      .rows = to.count,
                      .width = width_});
    }
  }

 private:
  struct Buffers {
    Scratch<T> keys, values, queries, gradients;
    Scratch<A> sums, key_sums, value_sums;
  };
  static Buffers& buffers() {
    thread_local Buffers buffers;
    return buffers;
  }

  std::int64_t width_;
  const kernels::AttentionKernels<M, T>& loops_ = kernels::attention_kernels<M, T>();
  Rows keys_, values_;
  SumRows<A> key_sums_, value_sums_;

  Rows operand(RowRange<M> range, Scratch<T>& memory) const {
    if constexpr (std::is_same_v<M, T>) {
      return {.data = range.first(), .row = range.rows.row};
    } else {
      T* const copy = memory(range.count * width_);
      loops_.gather({.from = range.first(),
                     .from_row = range.rows.row,
                     .to = copy,
                     .to_row = width_,
                     .rows = range.count,
                     .width = width_});
      return {.data = copy, .row = width_};
    }
  }
  SumRows<A> sums_of(RowRange<M> range, Scratch<A>& memory) const {
    if constexpr (std::is_same_v<M, A>) {
      return {.data = range.first(), .row = range.rows.row};
    } else {
      return {.data = memory(range.count * width_), .row = width_};
    }
  }
  static Rows behind(Rows rows, std::int64_t skipped) {
    rows.data += skipped * rows.row;
    return rows;
  }

  void with_transposed(const Rows& rows, std::int64_t count, Rows keys, std::int64_t seen,
                       A* products) const {
    keys.transposed = true;
    multiply<T>({.m = count,
                 .n = seen,
                 .k = width_,
                 .a = rows,
                 .b = keys,
                 .product = products,
                 .product_row = seen});
  }
  SumRows<A> sum(const T* pairs, SeenKeys seen, const Rows& keys, RowRange<M> to) const {
    const SumRows<A> sums = sums_of(to, buffers().sums);
    multiply<T>({.m = to.count,
                 .n = width_,
                 .k = seen.count,
                 .a = {.data = pairs, .row = seen.count},
                 .b = behind(keys, seen.skipped),
                 .product = sums.data,
                 .product_row = sums.row});
    return sums;
  }
  void add_transposed(const SumRows<A>& sums, const T* pairs, const Rows& rows, std::int64_t count,
                      SeenKeys seen, bool add) const {
    multiply<T>({.m = seen.count,
                 .n = width_,
                 .k = count,
                 .a = {.data = pairs, .row = seen.count, .transposed = true},
                 .b = rows,
                 .product = sums.data + seen.skipped * sums.row,
                 .product_row = sums.row,
                 .add = add});
  }
};

}  // namespace roformer
