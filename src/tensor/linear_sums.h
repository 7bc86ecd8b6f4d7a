// The sums of linear attention over one head of one text, and their gradients. The causal ones go
// chunk by chunk (Katharopoulos 2020, section 3.3): a chunk's queries meet their own keys as a
// matrix and all earlier keys through one state.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/attention_kernels.h"
#include "tensor/kernels.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer::linear {

inline constexpr std::int64_t kChunk = 32;  // queries that meet their own keys as a matrix

// A row for each token of one head of one text.
template <typename A>
struct Rows {
  A* data = nullptr;
  std::int64_t row = 0, columns = 0;

  A* at(std::int64_t token) const { return data + token * row; }
  Operand<A> from(std::int64_t token) const { return {.data = at(token), .row = row}; }
  Operand<A> all() const { return from(0); }
};

template <typename A>
Operand<A> transposed(Operand<A> operand) {
  operand.transposed = true;
  return operand;
}

// sums [m, n] = a b, or added to them.
template <typename A>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Operand<A>& a,
             const Operand<A>& b, A* sums, std::int64_t row, bool add = false) {
  multiply<A>(
      {.m = m, .n = n, .k = k, .a = a, .b = b, .product = sums, .product_row = row, .add = add});
}

// pairs [count, count] = a b^T, but 0 for keys after the query.
template <typename A>
Operand<A> causal_pairs(std::int64_t count, std::int64_t columns, const Operand<A>& a,
                        const Operand<A>& b, A* pairs) {
  product<A>(count, count, columns, a, transposed(b), pairs, count);
  for (std::int64_t i = 0; i < count; ++i) {
    std::fill(pairs + i * count + i + 1, pairs + (i + 1) * count, A(0));
  }
  return {.data = pairs, .row = count};
}

// sums_i = sum over j <= i of (a_i . b_j) c_j.
template <typename A>
void causal_sums(const Rows<A>& a, const Rows<A>& b, const Rows<A>& c, const Rows<A>& sums,
                 std::int64_t length) {
  thread_local Scratch<A> pair_memory, state_memory;
  A* const pairs = pair_memory(kChunk * kChunk);
  A* const state = state_memory(b.columns * c.columns);
  const Operand<A> earlier{.data = state, .row = c.columns};
  for (std::int64_t first = 0; first < length; first += kChunk) {
    const std::int64_t count = std::min(kChunk, length - first);
    const Operand<A> own = causal_pairs<A>(count, a.columns, a.from(first), b.from(first), pairs);
    product<A>(count, c.columns, count, own, c.from(first), sums.at(first), sums.row);
    if (first > 0) {
      product<A>(count, c.columns, a.columns, a.from(first), earlier, sums.at(first), sums.row,
                 true);
    }
    if (first + count < length) {
      product<A>(b.columns, c.columns, count, transposed(b.from(first)), c.from(first), state,
                 c.columns, first > 0);
    }
  }
}

// From the gradients g of the sums of (q_i . k_j) v_j over j <= i: of keys, the sum over i >= j of
// (g_i . v_j) q_i, and of values, that of (q_i . k_j) g_i. They share the state of later queries.
template <typename A>
void key_and_value_gradients(const Rows<A>& query, const Rows<A>& key, const Rows<A>& value,
                             const Rows<A>& gradient, const Rows<A>& to_key,
                             const Rows<A>& to_value, std::int64_t length) {
  thread_local Scratch<A> pair_memory, state_memory;
  A* const pairs = pair_memory(kChunk * kChunk);
  const std::int64_t features = query.columns, width = value.columns;
  A* const state = state_memory(features * width);
  const Operand<A> later{.data = state, .row = width};
  const std::int64_t chunks = (length + kChunk - 1) / kChunk;
  for (std::int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
    const std::int64_t first = chunk * kChunk, count = std::min(kChunk, length - first);
    const Operand<A> q = query.from(first), k = key.from(first), v = value.from(first),
                     g = gradient.from(first);
    const bool last = chunk == chunks - 1;
    const Operand<A> slopes = transposed(causal_pairs<A>(count, width, g, v, pairs));
    product<A>(count, features, count, slopes, q, to_key.at(first), to_key.row);
    const Operand<A> weights = transposed(causal_pairs<A>(count, features, q, k, pairs));
    product<A>(count, width, count, weights, g, to_value.at(first), to_value.row);
    if (!last) {
      product<A>(count, features, width, v, transposed(later), to_key.at(first), to_key.row, true);
      product<A>(count, width, features, k, later, to_value.at(first), to_value.row, true);
    }
    if (chunk > 0) product<A>(features, width, count, transposed(q), g, state, width, !last);
  }
}

// The same two over all pairs.
template <typename A>
void whole_sums(const Rows<A>& a, const Rows<A>& b, const Rows<A>& c, const Rows<A>& sums,
                std::int64_t length) {
  thread_local Scratch<A> memory;
  A* const state = memory(b.columns * c.columns);
  product<A>(b.columns, c.columns, length, transposed(b.all()), c.all(), state, c.columns);
  product<A>(length, c.columns, a.columns, a.all(), {.data = state, .row = c.columns}, sums.data,
             sums.row);
}

template <typename A>
void whole_key_and_value_gradients(const Rows<A>& query, const Rows<A>& key, const Rows<A>& value,
                                   const Rows<A>& gradient, const Rows<A>& to_key,
                                   const Rows<A>& to_value, std::int64_t length) {
  thread_local Scratch<A> memory;
  const std::int64_t features = query.columns, width = value.columns;
  A* const memory_of_state = memory(features * width);
  const Operand<A> state{.data = memory_of_state, .row = width};
  product<A>(features, width, length, transposed(query.all()), gradient.all(), memory_of_state,
             width);
  product<A>(length, features, width, value.all(), transposed(state), to_key.data, to_key.row);
  product<A>(length, width, features, key.all(), state, to_value.data, to_value.row);
}

// sums_i = a_i . sum over j <= i of b_j.
template <typename A>
void running_products(const Rows<A>& a, const Rows<A>& b, A* sums, std::int64_t length) {
  const std::int64_t columns = a.columns;
  thread_local Scratch<A> rows_memory, sum_memory;
  A* const earlier = rows_memory(kChunk * columns);  // of the tokens of a chunk
  A* const sum = sum_memory(columns);
  std::fill_n(sum, columns, A(0));
  for (std::int64_t first = 0; first < length; first += kChunk) {
    const std::int64_t count = std::min(kChunk, length - first);
    kernels::table<A>().running_sums({.input = b.at(first),
                                      .input_row = b.row,
                                      .output = earlier,
                                      .output_row = columns,
                                      .rows = count,
                                      .columns = columns,
                                      .sum = sum});
    kernels::attention_kernels<A, A>().row_products(a.at(first), a.row, earlier, columns, count,
                                                    columns, sums + first);
  }
}

// to_a_i = gradient_i * sum over j <= i of b_j; to_b_j = sum over i >= j of gradient_i a_i.
template <typename A>
void running_gradients(const Rows<A>& a, const Rows<A>& b, const A* gradient, const Rows<A>& to_a,
                       const Rows<A>& to_b, std::int64_t length) {
  thread_local Scratch<A> memory;
  A* const sum = memory(a.columns);
  std::fill_n(sum, a.columns, A(0));
  kernels::table<A>().running_sums({.input = b.at(0),
                                    .input_row = b.row,
                                    .output = to_a.at(0),
                                    .output_row = to_a.row,
                                    .factors = gradient,
                                    .factor_row = 1,
                                    .rows = length,
                                    .columns = a.columns,
                                    .sum = sum});
  std::fill_n(sum, a.columns, A(0));
  kernels::table<A>().running_sums({.input = a.at(length - 1),
                                    .input_row = -a.row,
                                    .gains = gradient + length - 1,
                                    .gain_row = -1,
                                    .output = to_b.at(length - 1),
                                    .output_row = -to_b.row,
                                    .rows = length,
                                    .columns = a.columns,
                                    .sum = sum});
}

}  // namespace roformer::linear
