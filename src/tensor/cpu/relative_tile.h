// Terms of relative vectors in attention by tiles: products of a tile's queries or keys with the
// rows of a table that their differences of positions reach, added to the pairs along diagonals.
// Blocks are small, because a block of n queries and m keys reaches n + m - 1 rows.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tensor/attention_kernels.h"
#include "tensor/cpu/attention_products.h"
#include "tensor/parallel.h"
#include "tensor/tiled_attention.h"

namespace roformer {

// One head's part of a RelativeTerm. T is the type of the products' operands.
template <typename Products>
class RelativeTile {
 public:
  using M = typename Products::M;
  using T = typename Products::T;
  using A = typename Products::A;

  // `table` is the term's in the type T, contiguous.
  RelativeTile(const RelativeTerm& term, const at::Tensor& table, std::int64_t head)
      : term_(term),
        width_(table.size(2)),
        table_(table.const_data_ptr<T>() +
               (table.size(0) == 1 ? 0 : head * table.size(1) * width_)) {
    for (const RelativeIndex::Run& run : term.index.runs()) {
      runs_.push_back({.begin = run.begin,
                       .end = run.end,
                       .row = term.index.row(term.index.queries() - 1)[run.begin],
                       .step = run.step});
    }
  }

  RelativeUse use() const { return term_.use; }

  // scores += vectors . rows for all pairs. `vectors` are those of the tile's queries or keys.
  void add(const Operand<T>& vectors, const kernels::ScoreRows<A>& pairs) const {
    thread_local Scratch<A> memory;
    for_blocks(pairs, [&](const Block& block) {
      A* const products = memory(block.count() * block.rows);
      multiply<T>({.m = block.count(),
                   .n = block.rows,
                   .k = width_,
                   .a = block.of(vectors),
                   .b = {.data = rows_of(block), .row = width_, .transposed = true},
                   .product = products,
                   .product_row = block.rows});
      loops_.add_relative(work(block, pairs, products));
    });
  }

  // The sums of the pairs (laid out like `pairs.scores`) over equal rows, [vectors, rows], for each
  // block: function(block, sums).
  template <typename Function>
  void sum(const T* numbers, const kernels::ScoreRows<A>& pairs, const Function& function) const {
    thread_local Scratch<A> memory;
    thread_local Scratch<T> narrow_memory;
    for_blocks(pairs, [&](const Block& block) {
      const std::int64_t count = block.count() * block.rows;
      A* const wide = memory(count);
      std::fill_n(wide, count, A(0));
      kernels::RelativePairs<T> sums = work(block, pairs, wide);
      sums.pairs = numbers;
      loops_.sum_relative(sums);
      if constexpr (std::is_same_v<A, T>) {
        function(block, wide);
      } else {
        T* const narrow = narrow_memory(count);
        loops_.scatter({.from = wide,
                        .from_row = block.rows,
                        .to = narrow,
                        .to_row = block.rows,
                        .rows = block.count(),
                        .width = block.rows});
        function(block, narrow);
      }
    });
  }

  // Pairs of some queries and keys of the tile, and the rows of the table that they use.
  struct Block {
    bool of_keys = false;
    std::int64_t query = 0, queries = 0, key = 0, keys = 0;
    std::int64_t first = 0, rows = 0;

    std::int64_t begin() const { return of_keys ? key : query; }
    std::int64_t count() const { return of_keys ? keys : queries; }
    // The rows of the block's vectors.
    Operand<T> of(Operand<T> vectors) const {
      vectors.data += begin() * vectors.row;
      return vectors;
    }
  };

  // sums [block.count(), D] += products . rows
  void add_rows(const Block& block, const T* products, SumRows<A> sums) const {
    multiply<T>({.m = block.count(),
                 .n = width_,
                 .k = block.rows,
                 .a = {.data = products, .row = block.rows},
                 .b = rows(block),
                 .product = sums.data + block.begin() * sums.row,
                 .product_row = sums.row,
                 .add = true});
  }
  // gradient of the table [R, D] += products^T vectors
  void add_to_table(const Block& block, const T* products, const Operand<T>& vectors,
                    A* gradient) const {
    multiply<T>({.m = block.rows,
                 .n = width_,
                 .k = block.count(),
                 .a = {.data = products, .row = block.rows, .transposed = true},
                 .b = block.of(vectors),
                 .product = gradient + block.first * width_,
                 .product_row = width_,
                 .add = true});
  }
  Operand<T> rows(const Block& block) const { return {.data = rows_of(block), .row = width_}; }

 private:
  static constexpr std::int64_t kVectors = 64;  // of a block

  const RelativeTerm& term_;
  std::int64_t width_;
  const T* table_;
  std::vector<kernels::RelativeRun> runs_;
  const kernels::AttentionKernels<M, T>& loops_ = kernels::attention_kernels<M, T>();

  const T* rows_of(const Block& block) const { return table_ + block.first * width_; }

  template <typename Function>
  void for_blocks(const kernels::ScoreRows<A>& pairs, const Function& function) const {
    const bool of_keys = term_.use == RelativeUse::key_scores;
    const std::int64_t total = of_keys ? pairs.columns : pairs.rows;
    for (std::int64_t first = 0; first < total; first += kVectors) {
      const std::int64_t count = std::min(kVectors, total - first);
      Block block{.of_keys = of_keys, .queries = pairs.rows, .keys = pairs.columns};
      (of_keys ? block.key : block.query) = first;
      (of_keys ? block.keys : block.queries) = count;
      // Differences key - query of the visible pairs.
      const std::int64_t least = block.key - (block.query + block.queries - 1) - pairs.first_row;
      std::int64_t greatest = block.key + block.keys - 1 - block.query - pairs.first_row;
      if (pairs.causal) greatest = std::min<std::int64_t>(greatest, 0);
      if (greatest < least) continue;
      const std::int32_t* const rows = term_.index.row(0);
      const auto [low, high] = std::minmax_element(rows + least, rows + greatest + 1);
      block.first = *low;
      block.rows = *high - *low + 1;
      function(block);
    }
  }

  kernels::RelativePairs<T> work(const Block& block, const kernels::ScoreRows<A>& pairs,
                                 A* products) const {
    return {.rows = pairs,
            .query = block.query,
            .queries = block.queries,
            .key = block.key,
            .keys = block.keys,
            .products = products,
            .product_row = block.rows,
            .of_keys = block.of_keys,
            .first_row = block.first,
            .runs = runs_.data(),
            .run_count = static_cast<std::int64_t>(runs_.size()),
            .origin = term_.index.queries() - 1 - pairs.first_row};
  }
};

}  // namespace roformer
