// The matrix products of one head's attention in one segment: by the BLAS (BlasProducts) or, for
// bfloat16 on AMX, by tiles (PanelProducts). Both classes have the same members.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "tensor/attention_kernels.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

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

// Sums of products, in their final place or in separate memory.
template <typename A>
struct SumRows {
  A* data = nullptr;
  std::int64_t row = 0;
};

// Multiplies with the BLAS, without moving the rows. M is the type in memory, T that of products.
template <typename MemoryType, typename ProductType>
class BlasProducts {
 public:
  using M = MemoryType;
  using T = ProductType;
  using A = kernels::Accumulate<M>;
  using Rows = Operand<T>;  // of queries or of the output's gradient
  // Queries at a time, and the scores that they may have (the least number of queries may have
  // more). The BLAS is slow with few rows: 1.5 times as slow with 32 (2,048 keys in fp32).
  static constexpr std::int64_t kLeastQueries = 32, kMostQueries = 128;
  static constexpr std::int64_t kScores = std::int64_t{1} << 20;

  BlasProducts(std::int64_t width, RowRange<M> keys, RowRange<M> values)
      : width_(width),
        keys_(operand(keys, buffers().keys)),
        values_(operand(values, buffers().values)) {}

  // The pairs of `count` queries with the keys that they see lie in rows of this length, all
  // filled.
  static std::int64_t pair_row(std::int64_t seen) { return seen; }
  static std::int64_t padded(std::int64_t seen) { return seen; }
  static std::int64_t pair_rows(std::int64_t count) { return count; }
  static SeenKeys widened(SeenKeys seen) { return seen; }

  Rows queries(RowRange<M> rows) const { return operand(rows, buffers().queries); }
  Rows gradients(RowRange<M> rows) const { return operand(rows, buffers().gradients); }

  // products [count, seen] = rows . keys
  void with_keys(const Rows& rows, std::int64_t count, SeenKeys seen, A* products) const {
    with_transposed(rows, count, after(keys_, seen.skipped), seen.count, products);
  }
  void with_values(const Rows& rows, std::int64_t count, SeenKeys seen, A* products) const {
    with_transposed(rows, count, after(values_, seen.skipped), seen.count, products);
  }

  // sums [count, D] = pairs . keys, in `to` if that has the sums' type, else in separate memory.
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
  // Adds slopes^T queries to the gradients of the seen keys, or sets them.
  void add_to_keys(const T* slopes, const Rows& queries, std::int64_t count, SeenKeys seen,
                   bool add) const {
    add_transposed(key_sums_, slopes, queries, count, seen, add);
  }
  // The same for their values with probabilities^T gradients.
  void add_to_values(const T* probabilities, const Rows& gradients, std::int64_t count,
                     SeenKeys seen, bool add) const {
    add_transposed(value_sums_, probabilities, gradients, count, seen, add);
  }
  void end_gradients(RowRange<M> keys, RowRange<M> values) const {
    store(key_sums_, keys);
    store(value_sums_, values);
  }

  // The rows as an operand of multiply().
  Operand<T> operand_of(const Rows& rows) const { return rows; }
  Operand<T> seen_keys(SeenKeys seen) const { return after(keys_, seen.skipped); }
  // Adds products [count, rows] . rows [rows, D] to the gradients of `count` seen keys from
  // `first`.
  void add_rows_to_keys(const T* products, const Operand<T>& table, std::int64_t rows,
                        std::int64_t first, std::int64_t count) const {
    multiply<T>({.m = count,
                 .n = width_,
                 .k = rows,
                 .a = {.data = products, .row = rows},
                 .b = table,
                 .product = key_sums_.data + first * key_sums_.row,
                 .product_row = key_sums_.row,
                 .add = true});
  }

  // Copies sums in separate memory to their place.
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
  static Rows after(Rows rows, std::int64_t skipped) {
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
                 .b = after(keys, seen.skipped),
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

// By tile products (products.h), for bfloat16 and heads whose width is a multiple of 32. Keys and
// values are laid out once for all queries. All numbers of rows and columns are multiples of 32, so
// that few tiles are ever compiled.
class PanelProducts {
 public:
  using M = c10::BFloat16;
  using T = c10::BFloat16;
  using A = float;
  // Queries at a time, and the scores that they may have (the least number of queries may have
  // more): with their gradients these fit in a core's cache.
  static constexpr std::int64_t kLeastQueries = 64, kMostQueries = 128;
  static constexpr std::int64_t kScores = std::int64_t{1} << 15;
  using Rows = const T*;  // [count, D], zeros up to a multiple of 32 rows

  static bool serve(std::int64_t width) {
    return width % kMultiple == 0 && has_tile_products() &&
           kernels::panel_kernels().copy != nullptr;
  }

  PanelProducts(std::int64_t width, RowRange<M> keys, RowRange<M> values)
      : width_(width),
        padded_keys_(padded(keys.count)),
        key_row_(row_of(padded_keys_)),
        keys_(keys),
        values_(values),
        key_columns_(columns_of(keys, buffers().key_columns)),
        value_rows_(rows_of(values, buffers().value_rows)) {}

  // Not a power of two, so that the rows of a tile do not compete for the same cache sets.
  static std::int64_t pair_row(std::int64_t seen) { return row_of(padded(seen)); }
  static std::int64_t padded(std::int64_t count) {
    return (count + kMultiple - 1) / kMultiple * kMultiple;
  }
  static std::int64_t pair_rows(std::int64_t count) { return padded(count); }
  // A panel starts at a multiple of 32 keys; the additional keys are hidden pair by pair.
  static SeenKeys widened(SeenKeys seen) {
    const std::int64_t skipped = seen.skipped / kMultiple * kMultiple;
    return {.skipped = skipped, .count = seen.count + seen.skipped - skipped};
  }

  Rows queries(RowRange<M> rows) const { return copied(rows, buffers().queries); }
  Rows gradients(RowRange<M> rows) const { return copied(rows, buffers().gradients); }

  void with_keys(Rows rows, std::int64_t count, SeenKeys seen, A* products) const {
    with_columns(rows, count, key_columns_, seen, products);
  }
  void with_values(Rows rows, std::int64_t count, SeenKeys seen, A* products) const {
    with_columns(rows, count, value_columns_, seen, products);
  }

  SumRows<A> sum_keys(const T* pairs, SeenKeys seen, RowRange<M> to) const {
    return sum(pairs, seen, key_rows_, to.count);
  }
  SumRows<A> sum_values(const T* pairs, SeenKeys seen, RowRange<M> to) const {
    return sum(pairs, seen, value_rows_, to.count);
  }

  // Also lays out the operands that only with_values() and sum_keys() read.
  void begin_gradients(RowRange<M>, RowRange<M>) {
    key_rows_ = rows_of(keys_, buffers().key_rows);
    value_columns_ = columns_of(values_, buffers().value_columns);
    key_sums_ = buffers().key_sums(width_ * key_row_);
    value_sums_ = buffers().value_sums(width_ * key_row_);
  }
  void clear_gradients(std::int64_t) const {
    std::fill_n(key_sums_, width_ * key_row_, A(0));
    std::fill_n(value_sums_, width_ * key_row_, A(0));
  }
  void add_to_keys(const T* slopes, Rows queries, std::int64_t count, SeenKeys seen,
                   bool add) const {
    add_transposed(key_sums_, slopes, queries, count, seen, add);
  }
  void add_to_values(const T* probabilities, Rows gradients, std::int64_t count, SeenKeys seen,
                     bool add) const {
    add_transposed(value_sums_, probabilities, gradients, count, seen, add);
  }
  void end_gradients(RowRange<M> keys, RowRange<M> values) const {
    store_transposed(key_sums_, keys);
    store_transposed(value_sums_, values);
  }

  Operand<T> operand_of(Rows rows) const { return {.data = rows, .row = width_}; }
  Operand<T> seen_keys(SeenKeys seen) const {
    return {.data = keys_.rows.at(keys_.begin + seen.skipped), .row = keys_.rows.row};
  }
  void add_rows_to_keys(const T* products, const Operand<T>& table, std::int64_t rows,
                        std::int64_t first, std::int64_t count) const {
    multiply<T>({.m = width_,
                 .n = count,
                 .k = rows,
                 .a = {.data = table.data, .row = table.row, .transposed = true},
                 .b = {.data = products, .row = rows, .transposed = true},
                 .product = key_sums_ + first,
                 .product_row = key_row_,
                 .add = true});
  }

  void store(const SumRows<A>& sums, RowRange<M> to) const {
    loops_.scatter({.from = sums.data,
                    .from_row = sums.row,
                    .to = to.first(),
                    .to_row = to.rows.row,
                    .rows = to.count,
                    .width = width_});
  }

 private:
  static constexpr std::int64_t kMultiple = 32;
  static constexpr std::int64_t kKeys = 128;  // of a tile at most

  struct Buffers {
    Scratch<T> key_columns, key_rows, value_columns, value_rows;
    Scratch<T> queries, gradients, transposed, pairs;
    Scratch<A> sums, key_sums, value_sums, transposed_sums;
  };
  static Buffers& buffers() {
    thread_local Buffers buffers;
    return buffers;
  }

  std::int64_t width_, padded_keys_, key_row_;
  const kernels::AttentionKernels<M, T>& loops_ = kernels::attention_kernels<M, T>();
  const kernels::PanelKernels& layouts_ = kernels::panel_kernels();
  RowRange<M> keys_, values_;
  const T *key_columns_, *value_columns_ = nullptr;  // [D / 2, key_row, 2]
  const T *key_rows_ = nullptr, *value_rows_;        // [keys / 2, D, 2]
  A *key_sums_ = nullptr, *value_sums_ = nullptr;    // [D, key_row]

  static std::int64_t row_of(std::int64_t padded_keys) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(padded_keys))) +
           kMultiple;
  }

  kernels::PairedRows moved(RowRange<M> range, T* to, std::int64_t to_row) const {
    return {.from = range.first(),
            .from_row = range.rows.row,
            .to = to,
            .to_row = to_row,
            .rows = range.count,
            .padded = padded(range.count),
            .width = width_};
  }
  const T* columns_of(RowRange<M> range, Scratch<T>& memory) const {
    T* const columns = memory(width_ * key_row_);
    layouts_.pair_columns(moved(range, columns, key_row_));
    return columns;
  }
  const T* rows_of(RowRange<M> range, Scratch<T>& memory) const {
    T* const rows = memory(padded_keys_ * width_);
    layouts_.pair_rows(moved(range, rows, width_));
    return rows;
  }
  Rows copied(RowRange<M> range, Scratch<T>& memory) const {
    T* const rows = memory(kMostQueries * width_);
    layouts_.copy(moved(range, rows, width_));
    return rows;
  }

  // Calls pass(first, count) for the tiles of keys.
  template <typename Pass>
  static void for_tiles(std::int64_t seen, const Pass& pass) {
    const std::int64_t end = padded(seen);
    for (std::int64_t first = 0; first < end; first += kKeys) {
      pass(first, std::min(kKeys, end - first));
    }
  }
  void with_columns(Rows rows, std::int64_t count, const T* columns, SeenKeys seen,
                    A* products) const {
    const std::int64_t row = pair_row(seen.count);
    for_tiles(seen.count, [&](std::int64_t first, std::int64_t keys) {
      multiply({.m = padded(count),
                .n = keys,
                .k = width_,
                .a = rows,
                .a_row = width_,
                .b = columns + 2 * (seen.skipped + first),
                .b_row = key_row_,
                .product = products + first,
                .product_row = row});
    });
  }
  SumRows<A> sum(const T* pairs, SeenKeys seen, const T* rows, std::int64_t count) const {
    A* const sums = buffers().sums(kMostQueries * width_);
    for_tiles(seen.count, [&](std::int64_t first, std::int64_t keys) {
      multiply({.m = padded(count),
                .n = width_,
                .k = keys,
                .a = pairs + first,
                .a_row = pair_row(seen.count),
                .b = rows + (seen.skipped + first) * width_,
                .b_row = width_,
                .product = sums,
                .product_row = width_,
                .add = first > 0});
    });
    return {.data = sums, .row = width_};
  }
  // sums^T [D, keys] += rows^T pairs
  void add_transposed(A* sums, const T* pairs, Rows rows, std::int64_t count, SeenKeys seen,
                      bool add) const {
    const std::int64_t row = pair_row(seen.count);
    T* const transposed = buffers().transposed(width_ * kMostQueries);
    layouts_.transpose({.from = rows,
                        .from_row = width_,
                        .to = transposed,
                        .to_row = kMostQueries,
                        .rows = count,
                        .padded = padded(count),
                        .width = width_});
    T* const paired = buffers().pairs(kMostQueries * row);
    layouts_.pair_rows({.from = pairs,
                        .from_row = row,
                        .to = paired,
                        .to_row = row,
                        .rows = count,
                        .padded = padded(count),
                        .width = padded(seen.count)});
    for_tiles(seen.count, [&](std::int64_t first, std::int64_t keys) {
      multiply({.m = width_,
                .n = keys,
                .k = padded(count),
                .a = transposed,
                .a_row = kMostQueries,
                .b = paired + 2 * first,
                .b_row = row,
                .product = sums + seen.skipped + first,
                .product_row = key_row_,
                .add = add});
    });
  }
  void store_transposed(const A* sums, RowRange<M> to) const {
    A* const rows = buffers().transposed_sums(to.count * width_);
    layouts_.transpose_sums(sums, key_row_, to.count, width_, rows);
    store({.data = rows, .row = width_}, to);
  }
};

}  // namespace roformer
