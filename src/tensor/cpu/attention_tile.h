// Attention of one head in one segment on a CPU, forward and backward, as many queries at a time as
// keep their scores in a core's own cache: products (tensor/block_products.h) and loops
// (tensor/attention_kernels.h) in turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/error.h"
#include "tensor/attention_kernels.h"
#include "tensor/block_products.h"
#include "tensor/loops.h"
#include "tensor/scratch.h"
#include "tensor/tiled_attention.h"

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

// Whether what is added depends on the difference of positions alone.
inline bool by_difference(const at::Tensor& additive) {
  return additive.dim() == 2;
}

// M in memory, T in products.
template <typename M, typename T>
class AttentionTile {
 public:
  using A = kernels::Accumulate<M>;
  // Held at a time by a thread: with their gradients they fit into a core's own cache.
  static constexpr std::int64_t kScores = std::int64_t{1} << 16;
  static constexpr std::int64_t kLeastQueries = 32, kMostQueries = 128;

  AttentionTile(const TiledAttention& in, const AttentionSegment& segment, std::int64_t head)
      : in_(in),
        segment_(segment),
        head_(head),
        width_(in.query.size(1) / in.heads),
        query_(in.query, head, width_),
        key_(in.key, shared_head(in, head), width_),
        value_(in.value, shared_head(in, head), width_) {
    find_window();
    const std::int64_t most_keys = std::min(segment.key_length, last_ - first_ + kLeastQueries);
    queries_ =
        std::clamp(kScores / std::max<std::int64_t>(1, most_keys), kLeastQueries, kMostQueries);
    queries_ = std::min(queries_, segment.query_length);
  }

  void forward(const at::Tensor& output, const at::Tensor& logarithm) {
    thread_local Scratch<A> score_memory, row_memory, sum_memory;
    thread_local Scratch<T> power_memory, query_memory, key_memory, value_memory;
    const HeadRows<M> out(output, head_, width_);
    const std::int64_t keys = segment_.key_length;
    const Operand<T> key = operand(key_, segment_.key_begin, keys, key_memory);
    const Operand<T> value = operand(value_, segment_.key_begin, keys, value_memory);
    A* const inverse = row_memory(queries_);
    for (std::int64_t first = 0; first < segment_.query_length; first += queries_) {
      const std::int64_t count = std::min(queries_, segment_.query_length - first);
      const auto [skipped, seen] = seen_by(first, count);
      const std::int64_t token = segment_.query_begin + first;
      if (seen == 0) {
        clear(out, token, count);
        std::fill_n(logarithms(logarithm, token), count, std::numeric_limits<A>::infinity());
        continue;
      }
      const Operand<T> query = operand(query_, token, count, query_memory);
      A* const scores = score_memory(count * seen);
      T* powers;
      if constexpr (std::is_same_v<A, T>) {
        powers = scores;
      } else {
        powers = power_memory(count * seen);
      }
      multiply_with_keys(query, count, behind(key, skipped), seen, scores);
      loops_.softmax({.rows = rows(scores, first, count, skipped, seen),
                      .powers = powers,
                      .inverse = inverse,
                      .logarithm = logarithms(logarithm, token)});
      A* sums;
      std::int64_t sum_row;
      if constexpr (std::is_same_v<A, M>) {
        sums = out.at(token);
        sum_row = out.row;
      } else {
        sums = sum_memory(count * width_);
        sum_row = width_;
      }
      multiply<T>({.m = count,
                   .n = width_,
                   .k = seen,
                   .a = {.data = powers, .row = seen},
                   .b = behind(value, skipped),
                   .product = sums,
                   .product_row = sum_row});
      loops_.scatter({.from = sums,
                      .from_row = sum_row,
                      .to = out.at(token),
                      .to_row = out.row,
                      .rows = count,
                      .width = width_,
                      .factors = inverse});
    }
  }

  // `differences` [H, Lq + Lk - 1]: this segment's gradient of such a bias; or undefined.
  void backward(const at::Tensor& output, const at::Tensor& logarithm,
                const at::Tensor& output_gradient, const TiledAttentionGradients& gradients,
                const at::Tensor& differences) {
    thread_local Scratch<A> score_memory, slope_memory, row_memory, sum_memory, key_sum_memory,
        value_sum_memory, difference_memory;
    thread_local Scratch<T> probability_memory, narrow_memory, query_memory, key_memory,
        value_memory, gradient_memory;
    const HeadRows<M> out(output, head_, width_), out_gradient(output_gradient, head_, width_);
    const HeadRows<M> to_query(gradients.query, head_, width_),
        to_key(gradients.key, head_, width_), to_value(gradients.value, head_, width_);
    const std::int64_t keys = segment_.key_length;
    const Operand<T> key = operand(key_, segment_.key_begin, keys, key_memory);
    const Operand<T> value = operand(value_, segment_.key_begin, keys, value_memory);
    const Sums key_sums = sums_of(to_key, segment_.key_begin, keys, key_sum_memory);
    const Sums value_sums = sums_of(to_value, segment_.key_begin, keys, value_sum_memory);
    A* const shift = row_memory(queries_);
    // The last queries first: without a window they see all keys and begin the sums.
    const std::int64_t blocks = (segment_.query_length + queries_ - 1) / queries_;
    bool begun = false;
    for (std::int64_t block = blocks - 1; block >= 0; --block) {
      const std::int64_t first = block * queries_;
      const std::int64_t count = std::min(queries_, segment_.query_length - first);
      const auto [skipped, seen] = seen_by(first, count);
      const std::int64_t token = segment_.query_begin + first;
      if (seen == 0) {
        clear(to_query, token, count);
        continue;
      }
      const Operand<T> query = operand(query_, token, count, query_memory);
      const Operand<T> gradient = operand(out_gradient, token, count, gradient_memory);
      A* const scores = score_memory(count * seen);
      A* const slopes = slope_memory(count * seen);
      T *probabilities, *narrow;
      if constexpr (std::is_same_v<A, T>) {
        probabilities = scores;
        narrow = slopes;
      } else {
        probabilities = probability_memory(count * seen);
        narrow = narrow_memory(count * seen);
      }
      multiply_with_keys(query, count, behind(key, skipped), seen, scores);
      multiply_with_keys(gradient, count, behind(value, skipped), seen, slopes);
      loops_.row_products(out.at(token), out.row, out_gradient.at(token), out_gradient.row, count,
                          width_, shift);
      A* bias_gradient = nullptr;
      std::int64_t bias_gradient_row = 0;
      A* sums_of_differences = nullptr;  // of these queries: neither long nor far from the others'
      if (differences.defined()) {
        sums_of_differences = difference_memory(count + seen - 1);
        std::fill_n(sums_of_differences, count + seen - 1, A(0));
        bias_gradient = sums_of_differences + count - 1;
        bias_gradient_row = -1;
      } else if (const at::Tensor* const wanted = wanted_of(gradients); wanted != nullptr) {
        bias_gradient = pairs(*wanted, first) + skipped;
        bias_gradient_row = pair_row(*wanted);
      }
      loops_.slope({.rows = rows(scores, first, count, skipped, seen),
                    .gradients = slopes,
                    .logarithm = logarithms(logarithm, token),
                    .shift = shift,
                    .bias_gradient = bias_gradient,
                    .bias_gradient_row = bias_gradient_row,
                    .probabilities = probabilities,
                    .slopes = narrow});
      if (sums_of_differences != nullptr) {
        A* const to = pairs(differences, first + count - 1) + skipped;
        for (std::int64_t i = 0; i < count + seen - 1; ++i) to[i] += sums_of_differences[i];
      }
      const bool all = skipped == 0 && seen == keys;
      if (!begun && !all) {
        zero(value_sums, keys);
        zero(key_sums, keys);
      }
      const bool add = begun || !all;
      add_to_keys(behind(value_sums, skipped), {.data = probabilities, .row = seen}, gradient, seen,
                  count, add);
      add_to_keys(behind(key_sums, skipped), {.data = narrow, .row = seen}, query, seen, count,
                  add);
      begun = true;
      const Sums query_sums = sums_of(to_query, token, count, sum_memory);
      multiply<T>({.m = count,
                   .n = width_,
                   .k = seen,
                   .a = {.data = narrow, .row = seen},
                   .b = behind(key, skipped),
                   .product = query_sums.data,
                   .product_row = query_sums.row});
      finish(query_sums, to_query, token, count);
    }
    if (!begun) {
      clear(to_key, segment_.key_begin, keys);
      clear(to_value, segment_.key_begin, keys);
      return;
    }
    finish(key_sums, to_key, segment_.key_begin, keys);
    finish(value_sums, to_value, segment_.key_begin, keys);
  }

 private:
  // Sums of products on their way to memory, or in it already.
  struct Sums {
    A* data = nullptr;
    std::int64_t row = 0;
  };

  const TiledAttention& in_;
  const AttentionSegment& segment_;
  std::int64_t head_, width_, queries_ = 0;
  // Query i sees no key before i + first_ and none behind i + last_.
  std::int64_t first_ = 0, last_ = 0;
  HeadRows<M> query_, key_, value_;
  const kernels::AttentionKernels<M, T>& loops_ = kernels::attention_kernels<M, T>();

  // The head of keys and values that serves a head of queries.
  static std::int64_t shared_head(const TiledAttention& in, std::int64_t head) {
    return in.key_value_heads > 0 ? head / (in.heads / in.key_value_heads) : head;
  }

  // The first and the last difference of positions that this head's table leaves visible, as
  // entries for query 0 that stand for its keys; all without such a table.
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

  struct Seen {
    std::int64_t skipped = 0, count = 0;  // keys
  };
  // The keys that `count` queries from `first` on see among them.
  Seen seen_by(std::int64_t first, std::int64_t count) const {
    const std::int64_t keys = segment_.key_length, last = first + count - 1;
    std::int64_t end = last_ + last + 1;
    if (in_.causal) end = std::min(end, last + 1 + keys - segment_.query_length);
    end = std::clamp<std::int64_t>(end, 0, keys);
    const std::int64_t skipped = std::clamp<std::int64_t>(first_ + first, 0, end);
    return {.skipped = skipped, .count = end - skipped};
  }

  static Operand<T> behind(Operand<T> rows, std::int64_t skipped) {
    rows.data += skipped * rows.row;
    return rows;
  }
  static Sums behind(Sums rows, std::int64_t skipped) {
    rows.data += skipped * rows.row;
    return rows;
  }
  void zero(const Sums& sums, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(sums.data + i * sums.row, width_, A(0));
  }

  Operand<T> operand(const HeadRows<M>& rows, std::int64_t token, std::int64_t count,
                     Scratch<T>& memory) const {
    if constexpr (std::is_same_v<M, T>) {
      return {.data = rows.at(token), .row = rows.row};
    } else {
      T* const copy = memory(count * width_);
      loops_.gather({.from = rows.at(token),
                     .from_row = rows.row,
                     .to = copy,
                     .to_row = width_,
                     .rows = count,
                     .width = width_});
      return {.data = copy, .row = width_};
    }
  }
  static Operand<T> transposed(Operand<T> operand) {
    operand.transposed = true;
    return operand;
  }

  Sums sums_of(const HeadRows<M>& rows, std::int64_t token, std::int64_t count,
               Scratch<A>& memory) const {
    if constexpr (std::is_same_v<M, A>) {
      return {.data = rows.at(token), .row = rows.row};
    } else {
      return {.data = memory(count * width_), .row = width_};
    }
  }
  void finish(const Sums& sums, const HeadRows<M>& rows, std::int64_t token,
              std::int64_t count) const {
    if constexpr (!std::is_same_v<M, A>) {
      loops_.scatter({.from = sums.data,
                      .from_row = sums.row,
                      .to = rows.at(token),
                      .to_row = rows.row,
                      .rows = count,
                      .width = width_});
    }
  }
  // products [count, seen] = rows . keys, or gradients . values.
  void multiply_with_keys(const Operand<T>& rows, std::int64_t count, const Operand<T>& keys,
                          std::int64_t seen, A* products) const {
    multiply<T>({.m = count,
                 .n = seen,
                 .k = width_,
                 .a = rows,
                 .b = transposed(keys),
                 .product = products,
                 .product_row = seen});
  }
  // The sums of `seen` keys gain pairs^T rows.
  void add_to_keys(const Sums& sums, Operand<T> pairs, const Operand<T>& rows, std::int64_t seen,
                   std::int64_t count, bool add) const {
    multiply<T>({.m = seen,
                 .n = width_,
                 .k = count,
                 .a = transposed(pairs),
                 .b = rows,
                 .product = sums.data,
                 .product_row = sums.row,
                 .add = add});
  }
  void clear(const HeadRows<M>& rows, std::int64_t token, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(rows.at(token + i), width_, M(0));
  }

  A* logarithms(const at::Tensor& logarithm, std::int64_t token) const {
    return logarithm.data_ptr<A>() + head_ * logarithm.stride(0) + token;
  }
  // This head's numbers of a query's pairs with key 0, 1, .., and how far those of the next query
  // are behind.
  A* pairs(const at::Tensor& additive, std::int64_t query) const {
    A* const own =
        additive.data_ptr<A>() + (additive.size(0) == 1 ? 0 : head_ * additive.stride(0));
    const std::int64_t first = by_difference(additive) ? segment_.query_length - 1 : 0;
    return own + first + query * pair_row(additive);
  }
  static std::int64_t pair_row(const at::Tensor& additive) {
    return by_difference(additive) ? -1 : additive.stride(1);
  }
  kernels::ScoreRows<A> rows(A* scores, std::int64_t first, std::int64_t count,
                             std::int64_t skipped, std::int64_t seen) const {
    const std::int64_t ahead = segment_.key_length - segment_.query_length;
    kernels::ScoreRows<A> result{.scores = scores,
                                 .scale = static_cast<A>(in_.scale),
                                 .rows = count,
                                 .columns = seen,
                                 .first_row = first + ahead - skipped,
                                 .causal = in_.causal};
    if (segment_.additive >= 0) {
      const at::Tensor& additive = in_.additive[static_cast<std::size_t>(segment_.additive)];
      result.bias = pairs(additive, first) + skipped;
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
