#include "tensor/relative_terms.h"

#include <ATen/Parallel.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// Queries (or keys) whose products are stored at a time: few, so that the products stay in the
// cache and only the rows of the table in their reach are multiplied.
constexpr std::int64_t kChunk = 128;

template <typename Function>
void with_real(const at::Tensor& tensor, const Function& function) {
  if (tensor.scalar_type() == at::kDouble) return function(double{});
  ROFORMER_ASSERT(tensor.scalar_type() == at::kFloat);
  function(float{});
}

enum class Move {
  add_to_pairs,  // pairs[i, j] += products[., index(i, j)]
  set_pairs,     // pairs[i, j] = products[., index(i, j)]
  sum_pairs,     // products[., index(i, j)] += pairs[i, j]
};

// Moves numbers between the pairs [H, Lq, Lk] of one sequence and the products [H, n, R'] of n of
// its queries or keys with the table's rows in reach.
struct Exchange {
  Move move;
  RelativeSide side;
  const RelativeIndex& index;
  std::int64_t first = 0;  // of the n queries or keys
  RelativeIndex::Reach reach;
};

// The same for `count` neighbouring keys: pairs[n] and products[n * step]; step 0: one product.
template <typename T>
void exchange_run(Move move, T* __restrict pairs, T* __restrict products, std::int64_t step,
                  std::int64_t count) {
  if (step == 0) {
    T sum = 0;
    const T value = *products;
    switch (move) {
      case Move::add_to_pairs:
        for (std::int64_t n = 0; n < count; ++n) pairs[n] += value;
        break;
      case Move::set_pairs:
        for (std::int64_t n = 0; n < count; ++n) pairs[n] = value;
        break;
      case Move::sum_pairs:
        for (std::int64_t n = 0; n < count; ++n) sum += pairs[n];
        *products += sum;
        break;
    }
    return;
  }
  const auto each = [&](auto index_of) {
    switch (move) {
      case Move::add_to_pairs:
        for (std::int64_t n = 0; n < count; ++n) pairs[n] += products[index_of(n)];
        break;
      case Move::set_pairs:
        for (std::int64_t n = 0; n < count; ++n) pairs[n] = products[index_of(n)];
        break;
      case Move::sum_pairs:
        for (std::int64_t n = 0; n < count; ++n) products[index_of(n)] += pairs[n];
        break;
    }
  };
  // Steps 1 and -1 are constants for the vectoriser.
  if (step == 1) return each([](std::int64_t n) { return n; });
  if (step == -1) return each([](std::int64_t n) { return -n; });
  each([step](std::int64_t n) { return n * step; });
}

// One query's pairs with `count` keys from `first` on. Key `first + n` has its products at
// products + n * stride.
template <typename T>
void exchange_row(const Exchange& work, T* pairs, T* products, std::int64_t stride,
                  std::int64_t query, std::int64_t first, std::int64_t count) {
  work.index.for_runs(
      query, first, count,
      [&](std::int64_t key, std::int64_t length, std::int64_t row, std::int64_t step) {
        const std::int64_t n = key - first;
        if (step <= 1) {
          return exchange_run(work.move, pairs + n, products + n * stride + row - work.reach.begin,
                              stride + step, length);
        }
        const std::int32_t* const rows = work.index.row(query) + key;
        for (std::int64_t i = 0; i < length; ++i) {
          T* const product = products + (n + i) * stride + rows[i] - work.reach.begin;
          exchange_run(work.move, pairs + n + i, product, 0, 1);
        }
      });
}

void exchange(const Exchange& work, const at::Tensor& pairs, const at::Tensor& products) {
  const std::int64_t heads = pairs.size(0), queries = pairs.size(1), keys = pairs.size(2);
  const std::int64_t count = products.size(1), width = products.size(2);
  with_real(pairs, [&](auto tag) {
    using T = decltype(tag);
    T* const p = pairs.mutable_data_ptr<T>();
    T* const u = products.mutable_data_ptr<T>();
    if (work.side == RelativeSide::query) {
      at::parallel_for(0, heads * count, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t query = work.first + row % count;
          exchange_row(work, p + (row / count * queries + query) * keys, u + row * width, 0, query,
                       0, keys);
        }
      });
      return;
    }
    // Several queries share a key's products, so one thread processes a whole head.
    at::parallel_for(0, heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin * queries; row < end * queries; ++row) {
        exchange_row(work, p + row * keys + work.first, u + row / queries * count * width, width,
                     row % queries, work.first, count);
      }
    });
  });
}

// The same for values [H, R], which serve as the products of every query.
void exchange_values(const RelativeIndex& index, Move move, const at::Tensor& pairs,
                     const at::Tensor& values) {
  const std::int64_t rows = values.size(1), queries = index.queries(), keys = index.keys();
  const Exchange work{
      .move = move, .side = RelativeSide::query, .index = index, .reach = {0, rows}};
  with_real(pairs, [&](auto tag) {
    using T = decltype(tag);
    T* const p = pairs.mutable_data_ptr<T>();
    T* const v = values.mutable_data_ptr<T>();
    at::parallel_for(0, values.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin * queries; row < end * queries; ++row) {
        exchange_row(work, p + row * keys, v + row / queries * rows, 0, row % queries, 0, keys);
      }
    });
  });
}

// Calls function(sequence, work) for every sequence and chunk of queries or keys.
template <typename Function>
void for_chunks(std::int64_t batch, const RelativeIndex& index, RelativeSide side, Move move,
                const Function& function) {
  const bool by_query = side == RelativeSide::query;
  const std::int64_t total = by_query ? index.queries() : index.keys();
  for (std::int64_t first = 0; first < total; first += kChunk) {
    const std::int64_t count = std::min(kChunk, total - first);
    const Exchange work{
        .move = move,
        .side = side,
        .index = index,
        .first = first,
        .reach = index.reach(by_query ? RelativeIndex::Pairs{first, count, 0, index.keys()}
                                      : RelativeIndex::Pairs{0, index.queries(), first, count})};
    for (std::int64_t b = 0; b < batch; ++b) function(b, count, work);
  }
}

// The rows of the table in reach for every head, [H, R', D].
at::Tensor rows_of(const at::Tensor& table, const Exchange& work, std::int64_t heads) {
  const at::Tensor rows = table.narrow(1, work.reach.begin, work.reach.count);
  return rows.expand({heads, rows.size(1), rows.size(2)});
}

// gradient of the table += products^T vectors. products [H, n, R'], vectors [H, n, D].
void add_table_gradient(const at::Tensor& gradient, const Exchange& work,
                        const at::Tensor& products, const at::Tensor& vectors) {
  const at::Tensor part = gradient.narrow(1, work.reach.begin, work.reach.count);
  if (part.size(0) == products.size(0)) {
    part.add_(at::bmm(products.transpose(1, 2), vectors));
  } else {
    part.add_(at::matmul(products.flatten(0, 1).t(), vectors.flatten(0, 1)).unsqueeze(0));
  }
}

void add_products(const RelativeProducts& in) {
  const at::Tensor vectors = in.vectors.detach(), table = in.table.detach();
  const std::int64_t heads = in.scores.size(1);
  for_chunks(in.scores.size(0), in.index, in.side, Move::add_to_pairs,
             [&](std::int64_t b, std::int64_t count, const Exchange& work) {
               const at::Tensor products = at::bmm(vectors[b].narrow(1, work.first, count),
                                                   rows_of(table, work, heads).transpose(1, 2));
               exchange(work, in.scores[b], products);
             });
}

}  // namespace

RelativeIndex RelativeIndex::of_differences(at::Tensor rows, std::int64_t queries,
                                            std::int64_t keys) {
  ROFORMER_ASSERT(rows.is_contiguous() && rows.numel() == queries + keys - 1);
  RelativeIndex index;
  index.rows_ = std::move(rows);
  index.queries_ = queries;
  index.keys_ = keys;
  index.differences_ = true;
  const std::int32_t* const values = index.rows_.const_data_ptr<std::int32_t>();
  const std::int64_t total = queries + keys - 1;
  for (std::int64_t begin = 0; begin < total;) {
    const std::int64_t step = begin + 1 < total ? values[begin + 1] - values[begin] : 0;
    std::int64_t end = begin + 1;
    if (std::abs(step) <= 1) {
      while (end < total && values[end] - values[end - 1] == step) ++end;
    }
    index.runs_.push_back({begin, end, std::abs(step) <= 1 ? step : 0});
    begin = end;
  }
  return index;
}

RelativeIndex RelativeIndex::of_pairs(at::Tensor rows) {
  ROFORMER_ASSERT(rows.is_contiguous() && rows.dim() == 2);
  RelativeIndex index;
  index.queries_ = rows.size(0);
  index.keys_ = rows.size(1);
  index.rows_ = std::move(rows);
  return index;
}

const std::int32_t* RelativeIndex::row(std::int64_t query) const {
  const std::int32_t* const data = rows_.const_data_ptr<std::int32_t>();
  return differences_ ? data + queries_ - 1 - query : data + query * keys_;
}

at::Tensor RelativeIndex::matrix(at::Device device) const {
  const at::Tensor rows = on_device(rows_.to(at::kLong), device);
  return differences_ ? rows.unfold(0, keys_, 1).flip(0) : rows;
}

RelativeIndex::Reach RelativeIndex::reach(const Pairs& pairs) const {
  std::int32_t least = row(pairs.query)[pairs.key], greatest = least;
  const auto look = [&](const std::int32_t* begin, const std::int32_t* end) {
    const auto [low, high] = std::minmax_element(begin, end);
    least = std::min(least, *low);
    greatest = std::max(greatest, *high);
  };
  const std::int64_t last = pairs.query + pairs.queries - 1;
  if (differences_) {
    look(row(last) + pairs.key, row(pairs.query) + pairs.key + pairs.keys);
  } else {
    for (std::int64_t i = pairs.query; i <= last; ++i) {
      look(row(i) + pairs.key, row(i) + pairs.key + pairs.keys);
    }
  }
  return {.begin = least, .count = greatest - least + 1};
}

at::Tensor add_relative_products(const RelativeProducts& products) {
  const at::ScalarType type = products.scores.scalar_type();
  const RelativeProducts in{.scores = products.scores,
                            .vectors = products.vectors.to(type),
                            .table = products.table.to(type),
                            .index = products.index,
                            .side = products.side};
  if (!runs_loops(in.scores)) {
    const at::Tensor all = at::matmul(in.vectors, in.table.transpose(1, 2));
    at::Tensor matrix = in.index.matrix(in.scores.device());
    if (in.side == RelativeSide::key) matrix = matrix.t();
    const at::Tensor chosen = at::gather(
        all, -1, matrix.expand({all.size(0), all.size(1), matrix.size(0), matrix.size(1)}));
    return in.scores + (in.side == RelativeSide::key ? chosen.transpose(-2, -1) : chosen);
  }
  ROFORMER_ASSERT(in.scores.is_contiguous());
  GradientRecorder recorder("attention/relative_scores", {in.scores, in.vectors, in.table});
  const at::Tensor scores = in.scores.detach();
  add_products({.scores = scores,
                .vectors = in.vectors,
                .table = in.table,
                .index = in.index,
                .side = in.side});
  return recorder.finish(
      scores,
      [vectors = in.vectors.detach(), table = in.table.detach(), index = in.index,
       side = in.side](const Gradients& gradients) -> Gradients {
        const at::Tensor pairs = gradients[0].contiguous();
        at::Tensor to_vectors = at::empty(vectors.sizes(), vectors.options());
        at::Tensor to_table = at::zeros_like(table);
        for_chunks(pairs.size(0), index, side, Move::sum_pairs,
                   [&](std::int64_t b, std::int64_t count, const Exchange& work) {
                     const at::Tensor sums =
                         at::zeros({pairs.size(1), count, work.reach.count}, pairs.options());
                     exchange(work, pairs[b], sums);
                     const at::Tensor rows = rows_of(table, work, pairs.size(1));
                     to_vectors[b].narrow(1, work.first, count).copy_(at::bmm(sums, rows));
                     add_table_gradient(to_table, work, sums,
                                        vectors[b].narrow(1, work.first, count));
                   });
        return {pairs, to_vectors, to_table};
      });
}

at::Tensor relative_sums(const at::Tensor& weights, const at::Tensor& given_table,
                         const RelativeIndex& index) {
  const at::Tensor table = given_table.to(weights.scalar_type());
  const std::int64_t batch = weights.size(0), heads = weights.size(1);
  if (!runs_loops(weights)) {
    const at::Tensor matrix =
        index.matrix(weights.device()).expand({batch, heads, index.queries(), index.keys()});
    const at::Tensor sums =
        at::zeros({batch, heads, index.queries(), table.size(1)}, weights.options())
            .scatter_add(-1, matrix, weights);
    return at::matmul(sums, table);
  }
  GradientRecorder recorder("attention/relative_values", {weights, table});
  at::Tensor output = at::empty({batch, heads, index.queries(), table.size(2)}, weights.options());
  const auto sums_of = [](const at::Tensor& pairs, const Exchange& work, std::int64_t count) {
    const at::Tensor sums = at::zeros({pairs.size(0), count, work.reach.count}, pairs.options());
    exchange(work, pairs, sums);
    return sums;
  };
  const at::Tensor held = weights.detach().contiguous();
  for_chunks(batch, index, RelativeSide::query, Move::sum_pairs,
             [&](std::int64_t b, std::int64_t count, const Exchange& work) {
               output[b]
                   .narrow(1, work.first, count)
                   .copy_(at::bmm(sums_of(held[b], work, count), rows_of(table, work, heads)));
             });
  return recorder.finish(
      output,
      [held, table = table.detach(), index, sums_of](const Gradients& gradients) -> Gradients {
        const at::Tensor& outer = gradients[0];
        at::Tensor to_weights = at::empty(held.sizes(), held.options());
        at::Tensor to_table = at::zeros_like(table);
        for_chunks(held.size(0), index, RelativeSide::query, Move::sum_pairs,
                   [&](std::int64_t b, std::int64_t count, Exchange work) {
                     const at::Tensor part = outer[b].narrow(1, work.first, count);
                     add_table_gradient(to_table, work, sums_of(held[b], work, count), part);
                     const at::Tensor products =
                         at::bmm(part, rows_of(table, work, held.size(1)).transpose(1, 2));
                     work.move = Move::set_pairs;
                     exchange(work, to_weights[b], products);
                   });
        return {to_weights, to_table};
      });
}

at::Tensor expand_relative(const at::Tensor& values, const RelativeIndex& index) {
  const std::int64_t heads = values.size(0);
  if (!runs_loops(values)) {
    const at::Tensor flat = index.matrix(values.device()).flatten();
    return at::index_select(values, 1, flat).view({1, heads, index.queries(), index.keys()});
  }
  GradientRecorder recorder("attention/expand_relative", {values});
  const at::Tensor held = values.detach().contiguous();
  at::Tensor pairs = at::empty({1, heads, index.queries(), index.keys()}, held.options());
  exchange_values(index, Move::set_pairs, pairs, held);
  return recorder.finish(pairs,
                         [index, options = held.options(), heads,
                          rows = held.size(1)](const Gradients& gradients) -> Gradients {
                           const at::Tensor sums = at::zeros({heads, rows}, options);
                           exchange_values(index, Move::sum_pairs, gradients[0].contiguous(), sums);
                           return {sums};
                         });
}

}  // namespace roformer
