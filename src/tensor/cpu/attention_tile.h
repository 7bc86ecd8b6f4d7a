// Attention of one head in one segment on a CPU, forward and backward, as many queries at a time as
// keep their scores in a core's cache: matrix products (attention_products.h) alternate with loops
// (tensor/attention_kernels.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "tensor/attention_kernels.h"
#include "tensor/cpu/attention_products.h"
#include "tensor/cpu/relative_tile.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tensor/tiled_attention.h"

namespace roformer {

// Whether an additive term has one number for each difference of positions.
inline bool by_difference(const at::Tensor& additive) {
  return additive.dim() == 2;
}

template <typename Products>
class AttentionTile {
 public:
  using M = typename Products::M;  // in memory
  using T = typename Products::T;  // in products
  using A = typename Products::A;

  // `tables` are those of in.relative in the type T.
  AttentionTile(const TiledAttention& in, const AttentionSegment& segment, std::int64_t head,
                std::span<const at::Tensor> tables = {})
      : in_(in),
        segment_(segment),
        head_(head),
        width_(in.query.size(1) / in.heads),
        query_(in.query, head, width_),
        products_(width_, keys_of(in.key, shared_head(in, head)),
                  keys_of(in.value, shared_head(in, head))) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      relative_.emplace_back(in.relative[i], tables[i], head);
    }
    find_window();
    const std::int64_t most_keys =
        std::min(segment.key_length, last_ - first_ + Products::kLeastQueries);
    queries_ = std::clamp(Products::kScores / std::max<std::int64_t>(1, most_keys),
                          Products::kLeastQueries, Products::kMostQueries);
    queries_ = std::min(queries_, segment.query_length);
  }

  void forward(const at::Tensor& output, const at::Tensor& logarithm) {
    thread_local Scratch<A> score_memory, row_memory;
    thread_local Scratch<T> power_memory;
    const HeadRows<M> out(output, head_, width_);
    A* const inverse = row_memory(queries_);
    for (std::int64_t first = 0; first < segment_.query_length; first += queries_) {
      const Queries queries = queries_from(first);
      const RowRange<M> to = rows_of(out, queries);
      if (queries.seen.count == 0) {
        clear(to);
        std::fill_n(logarithms(logarithm, to.begin), to.count, std::numeric_limits<A>::infinity());
        continue;
      }
      A* const scores = score_memory(queries.numbers());
      T* powers;
      if constexpr (std::is_same_v<A, T>) {
        powers = scores;
      } else {
        powers = power_memory(queries.numbers());
      }
      const typename Products::Rows query = products_.queries(rows_of(query_, queries));
      products_.with_keys(query, to.count, queries.seen, scores);
      add_relative_scores(query, queries, scores);
      loops_.softmax({.rows = rows(scores, queries),
                      .powers = powers,
                      .inverse = inverse,
                      .logarithm = logarithms(logarithm, to.begin)});
      const SumRows<A> sums = products_.sum_values(powers, queries.seen, to);
      add_relative_values(powers, queries, sums);
      loops_.scatter({.from = sums.data,
                      .from_row = sums.row,
                      .to = to.first(),
                      .to_row = out.row,
                      .rows = to.count,
                      .width = width_,
                      .factors = inverse});
    }
  }

  // `differences` [H, Lq + Lk - 1]: this segment's gradient of such a bias; or undefined.
  // `relative` [H, R, D]: of each term's table, added to; empty or undefined: not wanted.
  void backward(const at::Tensor& output, const at::Tensor& logarithm,
                const at::Tensor& output_gradient, const TiledAttentionGradients& gradients,
                const at::Tensor& differences, const std::vector<at::Tensor>& relative = {}) {
    const HeadRows<M> out(output, head_, width_), out_gradient(output_gradient, head_, width_),
        to_query(gradients.query, head_, width_);
    const RowRange<M> to_keys = keys_of(gradients.key, head_),
                      to_values = keys_of(gradients.value, head_);
    products_.begin_gradients(to_keys, to_values);
    double* const to_sums = in_.sums.defined() ? sums_of(gradients.sums) : nullptr;
    if (to_sums != nullptr) std::fill_n(to_sums, segment_.key_length, 0.0);
    // The last queries first: without a window they see all keys and begin the sums.
    const std::int64_t blocks = (segment_.query_length + queries_ - 1) / queries_;
    bool begun = false;
    for (std::int64_t block = blocks - 1; block >= 0; --block) {
      const Queries queries = queries_from(block * queries_);
      const RowRange<M> to = rows_of(to_query, queries);
      if (queries.seen.count == 0) {
        clear(to);
        continue;
      }
      const typename Products::Rows query = products_.queries(rows_of(query_, queries)),
                                    gradient = products_.gradients(rows_of(out_gradient, queries));
      const BiasGradient of_bias = bias_gradient(queries, gradients, differences);
      const Slopes slopes = slopes_of(query, gradient, queries,
                                      {.shift = shift_of(out, out_gradient, to),
                                       .logarithm = logarithms(logarithm, to.begin),
                                       .of_bias = of_bias});
      add_bias_gradient(of_bias, queries, differences, to_sums);
      add_key_value_gradients(query, gradient, queries, slopes, begun);
      begun = true;
      const SumRows<A> sums = products_.sum_keys(slopes.slopes, queries.seen, to);
      add_relative_gradients(query, gradient, queries, slopes, sums, relative);
      products_.store(sums, to);
    }
    if (begun) {
      products_.end_gradients(to_keys, to_values);
    } else {
      clear(to_keys);
      clear(to_values);
    }
  }

 private:
  // Queries of the segment that are taken at a time.
  struct Queries {
    std::int64_t first = 0, count = 0;
    SeenKeys seen;

    std::int64_t numbers() const {
      return Products::pair_rows(count) * Products::pair_row(seen.count);
    }
    // How many differences of positions the pairs have.
    std::int64_t differences() const { return count + seen.count - 1; }
  };

  // The results of slopes_of(), [queries, keys].
  struct Slopes {
    T *probabilities, *slopes;
  };
  // Where the slopes of the scores are summed for the gradient of a bias. `differences` holds sums
  // by difference of positions for these queries alone: neither long nor far from each other.
  struct BiasGradient {
    A* numbers = nullptr;  // of row 0; null: not wanted
    std::int64_t row = 0;
    A* differences = nullptr;
  };
  struct SlopeInputs {
    A* shift;
    const A* logarithm;
    BiasGradient of_bias;
  };

  // The sums of output * its gradient for some queries, or null: the loop takes them from the
  // probabilities. A rounded output cannot tell 1 - p from zero where one key has nearly all the
  // weight, and the slope consists of that difference.
  A* shift_of(const HeadRows<M>& out, const HeadRows<M>& out_gradient, RowRange<M> to) const {
    if (in_.sums.defined() || !std::is_same_v<A, M>) return nullptr;
    thread_local Scratch<A> memory;
    A* const shift = memory(queries_);
    loops_.row_products(out.at(to.begin), out.row, out_gradient.at(to.begin), out_gradient.row,
                        to.count, width_, shift);
    return shift;
  }

  BiasGradient bias_gradient(const Queries& queries, const TiledAttentionGradients& gradients,
                             const at::Tensor& differences) const {
    thread_local Scratch<A> difference_memory, column_memory;
    const SeenKeys seen = queries.seen;
    if (in_.sums.defined()) {  // all rows add to one
      A* const columns = column_memory(seen.count);
      std::fill_n(columns, seen.count, A(0));
      return {.numbers = columns};
    }
    if (differences.defined()) {
      A* const sums = difference_memory(queries.differences());
      std::fill_n(sums, queries.differences(), A(0));
      return {.numbers = sums + queries.count - 1, .row = -1, .differences = sums};
    }
    const at::Tensor* const wanted = wanted_of(gradients);
    if (wanted == nullptr) return {};
    return {.numbers = pairs(*wanted, queries.first) + seen.skipped, .row = pair_row(*wanted)};
  }

  // Recomputes the probabilities and makes the slopes of the scores, which also add to the bias's.
  Slopes slopes_of(const typename Products::Rows& query, const typename Products::Rows& gradient,
                   const Queries& queries, const SlopeInputs& in) {
    thread_local Scratch<A> score_memory, slope_memory;
    thread_local Scratch<T> probability_memory, narrow_memory;
    A* const scores = score_memory(queries.numbers());
    A* const slopes = slope_memory(queries.numbers());
    Slopes result;
    if constexpr (std::is_same_v<A, T>) {
      result = {.probabilities = scores, .slopes = slopes};
    } else {
      result = {.probabilities = probability_memory(queries.numbers()),
                .slopes = narrow_memory(queries.numbers())};
    }
    products_.with_keys(query, queries.count, queries.seen, scores);
    products_.with_values(gradient, queries.count, queries.seen, slopes);
    add_relative_scores(query, queries, scores);
    for (const RelativeTile<Products>& term : relative_) {
      if (term.use() != RelativeUse::values) continue;
      term.add(products_.operand_of(gradient), rows(slopes, queries));
    }
    loops_.slope({.rows = rows(scores, queries),
                  .gradients = slopes,
                  .logarithm = in.logarithm,
                  .shift = in.shift,
                  .bias_gradient = in.of_bias.numbers,
                  .bias_gradient_row = in.of_bias.row,
                  .probabilities = result.probabilities,
                  .slopes = result.slopes});
    return result;
  }

  // Moves the sums of some queries to the segment's.
  void add_bias_gradient(const BiasGradient& of_bias, const Queries& queries,
                         const at::Tensor& differences, double* to_sums) const {
    const SeenKeys seen = queries.seen;
    if (of_bias.differences != nullptr) {
      A* const sums = pairs(differences, queries.first + queries.count - 1) + seen.skipped;
      for (std::int64_t i = 0; i < queries.differences(); ++i) sums[i] += of_bias.differences[i];
    }
    if (to_sums == nullptr) return;
    // A row of slopes sums to zero because the probabilities sum to one: only columns count.
    for (std::int64_t i = 0; i < seen.count; ++i) {
      to_sums[seen.skipped + i] -= static_cast<double>(of_bias.numbers[i]);
    }
  }

  // `begun`: earlier queries have added to the gradients.
  void add_key_value_gradients(const typename Products::Rows& query,
                               const typename Products::Rows& gradient, const Queries& queries,
                               const Slopes& slopes, bool begun) {
    const SeenKeys seen = queries.seen;
    const bool all = seen.skipped == 0 && seen.count == segment_.key_length;
    if (!begun && !all) products_.clear_gradients(segment_.key_length);
    products_.add_to_values(slopes.probabilities, gradient, queries.count, seen, begun || !all);
    products_.add_to_keys(slopes.slopes, query, queries.count, seen, begun || !all);
  }

  void add_relative_scores(const typename Products::Rows& query, const Queries& queries,
                           A* scores) const {
    for (const RelativeTile<Products>& term : relative_) {
      if (term.use() == RelativeUse::values) continue;
      const bool of_keys = term.use() == RelativeUse::key_scores;
      term.add(of_keys ? products_.seen_keys(queries.seen) : products_.operand_of(query),
               rows(scores, queries));
    }
  }

  void add_relative_values(const T* powers, const Queries& queries, SumRows<A> sums) const {
    for (const RelativeTile<Products>& term : relative_) {
      if (term.use() != RelativeUse::values) continue;
      term.sum(powers, rows(nullptr, queries),
               [&](const auto& block, const T* of_rows) { term.add_rows(block, of_rows, sums); });
    }
  }

  // `sums`: the gradients of the queries.
  void add_relative_gradients(const typename Products::Rows& query,
                              const typename Products::Rows& gradient, const Queries& queries,
                              const Slopes& slopes, SumRows<A> sums,
                              const std::vector<at::Tensor>& relative) const {
    for (std::size_t i = 0; i < relative_.size(); ++i) {
      const RelativeTile<Products>& term = relative_[i];
      A* const table = relative.empty() || !relative[i].defined()
                           ? nullptr
                           : relative[i].data_ptr<A>() + head_ * relative[i].stride(0);
      const bool of_values = term.use() == RelativeUse::values;
      if (of_values && table == nullptr) continue;
      const bool of_keys = term.use() == RelativeUse::key_scores;
      const Operand<T> vectors = of_values ? products_.operand_of(gradient)
                                 : of_keys ? products_.seen_keys(queries.seen)
                                           : products_.operand_of(query);
      term.sum(of_values ? slopes.probabilities : slopes.slopes, rows(nullptr, queries),
               [&](const auto& block, const T* of_rows) {
                 if (of_keys) {
                   products_.add_rows_to_keys(of_rows, term.rows(block), block.rows,
                                              queries.seen.skipped + block.key, block.keys);
                 } else if (!of_values) {
                   term.add_rows(block, of_rows, sums);
                 }
                 if (table != nullptr) term.add_to_table(block, of_rows, vectors, table);
               });
    }
  }

  const TiledAttention& in_;
  const AttentionSegment& segment_;
  std::int64_t head_, width_, queries_ = 0;
  // Query i sees no key before i + first_ and none after i + last_.
  std::int64_t first_ = 0, last_ = 0;
  HeadRows<M> query_;
  const kernels::AttentionKernels<M, T>& loops_ = kernels::attention_kernels<M, T>();
  Products products_;
  std::vector<RelativeTile<Products>> relative_;

  // The head of keys and values that serves a head of queries.
  static std::int64_t shared_head(const TiledAttention& in, std::int64_t head) {
    return in.key_value_heads > 0 ? head / (in.heads / in.key_value_heads) : head;
  }
  RowRange<M> keys_of(const at::Tensor& view, std::int64_t head) const {
    return {.rows = HeadRows<M>(view, head, width_),
            .begin = segment_.key_begin,
            .count = segment_.key_length};
  }
  RowRange<M> rows_of(const HeadRows<M>& rows, const Queries& queries) const {
    return {.rows = rows, .begin = segment_.query_begin + queries.first, .count = queries.count};
  }

  // Sets first_ and last_ from the differences of positions that this head's table hides at its
  // ends; without a table all are visible.
  void find_window() {
    last_ = segment_.query_length + segment_.key_length - 2;
    first_ = 0;
    if (segment_.additive >= 0) {
      const at::Tensor& additive = in_.additive[static_cast<std::size_t>(segment_.additive)];
      if (by_difference(additive)) {
        const A* const table = pairs(additive, segment_.query_length - 1);
        constexpr A kHidden = -std::numeric_limits<A>::infinity();
        while (last_ >= first_ && table[last_] == kHidden) --last_;
        while (first_ < last_ && table[first_] == kHidden) ++first_;
      }
    }
    first_ -= segment_.query_length - 1;
    last_ -= segment_.query_length - 1;
  }

  Queries queries_from(std::int64_t first) const {
    const std::int64_t count = std::min(queries_, segment_.query_length - first);
    return {.first = first, .count = count, .seen = seen_by(first, count)};
  }
  // The keys that at least one of `count` queries from `first` on sees.
  SeenKeys seen_by(std::int64_t first, std::int64_t count) const {
    const std::int64_t keys = segment_.key_length, last = first + count - 1;
    std::int64_t end = last_ + last + 1;
    if (in_.causal) end = std::min(end, last + 1 + keys - segment_.query_length);
    end = std::clamp<std::int64_t>(end, 0, keys);
    const std::int64_t skipped = std::clamp<std::int64_t>(first_ + first, 0, end);
    if (skipped == end) return {};
    return Products::widened({.skipped = skipped, .count = end - skipped});
  }

  void clear(RowRange<M> range) const {
    for (std::int64_t i = 0; i < range.count; ++i) {
      std::fill_n(range.rows.at(range.begin + i), width_, M(0));
    }
  }

  A* logarithms(const at::Tensor& logarithm, std::int64_t token) const {
    return logarithm.data_ptr<A>() + head_ * logarithm.stride(0) + token;
  }
  // This head's running sums of the segment's keys.
  double* sums_of(const at::Tensor& sums) const {
    return sums.data_ptr<double>() + head_ * sums.stride(0) + segment_.key_begin;
  }
  // The bias from the differences of the running sums, up to a constant for each row, which a
  // softmax ignores: c of the first query minus c of each key. Near keys thus have exact
  // differences however large the sums are.
  const A* key_bias(const Queries& queries) const {
    thread_local Scratch<A> memory;
    const SeenKeys seen = queries.seen;
    const double* const sums = sums_of(in_.sums);
    const double first = sums[queries.first];
    A* const bias = memory(seen.count);
    for (std::int64_t i = 0; i < seen.count; ++i) {
      bias[i] = static_cast<A>(first - sums[seen.skipped + i]);
    }
    return bias;
  }

  // This head's numbers for the query's pairs with key 0, 1, ..; pair_row() is the stride to the
  // next query's.
  A* pairs(const at::Tensor& additive, std::int64_t query) const {
    A* const own =
        additive.data_ptr<A>() + (additive.size(0) == 1 ? 0 : head_ * additive.stride(0));
    const std::int64_t first = by_difference(additive) ? segment_.query_length - 1 : 0;
    return own + first + query * pair_row(additive);
  }
  static std::int64_t pair_row(const at::Tensor& additive) {
    return by_difference(additive) ? -1 : additive.stride(1);
  }
  kernels::ScoreRows<A> rows(A* scores, const Queries& queries) const {
    const SeenKeys seen = queries.seen;
    const std::int64_t ahead = segment_.key_length - segment_.query_length;
    kernels::ScoreRows<A> result{.scores = scores,
                                 .row = Products::pair_row(seen.count),
                                 .scale = static_cast<A>(in_.scale),
                                 .rows = queries.count,
                                 .columns = seen.count,
                                 .padded = Products::padded(seen.count),
                                 .first_row = queries.first + ahead - seen.skipped,
                                 .causal = in_.causal};
    if (in_.sums.defined()) {
      result.bias = key_bias(queries);
    } else if (segment_.additive >= 0) {
      const at::Tensor& additive = in_.additive[static_cast<std::size_t>(segment_.additive)];
      result.bias = pairs(additive, queries.first) + seen.skipped;
      result.bias_row = pair_row(additive);
    }
    return result;
  }
  const at::Tensor* wanted_of(const TiledAttentionGradients& gradients) const {
    if (segment_.additive < 0 || gradients.additive.empty()) return nullptr;
    const at::Tensor& wanted = gradients.additive[static_cast<std::size_t>(segment_.additive)];
    return wanted.defined() ? &wanted : nullptr;
  }
};

}  // namespace roformer
