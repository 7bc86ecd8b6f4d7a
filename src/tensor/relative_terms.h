// Terms of attention scores that depend on the pair (query, key) only through a small index, such
// as a clipped distance or a bucket. They are computed from products [L, R] of a few rows at a
// time, never as [L, L, D]. B batch, H heads, D head width, R rows of a table.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace roformer {

// Which row of a table the pair (query i, key j) uses.
class RelativeIndex {
 public:
  // Contiguous positions: `rows` [Lq + Lk - 1] int32 holds the row of every difference of
  // positions; entry Lq - 1 - i + j is the pair's.
  static RelativeIndex of_differences(at::Tensor rows, std::int64_t queries, std::int64_t keys);
  // Any positions: `rows` [Lq, Lk] int32.
  static RelativeIndex of_pairs(at::Tensor rows);

  std::int64_t queries() const { return queries_; }
  std::int64_t keys() const { return keys_; }
  // The rows of the query's pairs with key 0, 1, ..
  const std::int32_t* row(std::int64_t query) const;
  at::Tensor matrix(at::Device device) const;  // [Lq, Lk] int64

  // The table's rows that the pairs of these queries and keys use: begin .. begin + count - 1.
  struct Reach {
    std::int64_t begin = 0, count = 0;
  };
  struct Pairs {
    std::int64_t query, queries, key, keys;
  };
  Reach reach(const Pairs& pairs) const;

  // Neighbouring keys of a query whose rows follow each other (step 1 or -1) or are the same (0).
  struct Run {
    std::int64_t begin = 0, end = 0;  // indices in rows_
    std::int64_t step = 0;
  };
  // Calls function(first key, count, row of the first key, step) for the runs among a query's pairs
  // with `count` keys from `first` on. Step 2 or more: not a run; read the rows from row(query).
  template <typename Function>
  void for_runs(std::int64_t query, std::int64_t first, std::int64_t count,
                const Function& function) const;
  bool of_differences() const { return differences_; }
  const std::vector<Run>& runs() const { return runs_; }  // of differences, in order

 private:
  at::Tensor rows_;
  std::vector<Run> runs_;  // of differences
  std::int64_t queries_ = 0, keys_ = 0;
  bool differences_ = false;
};

template <typename Function>
void RelativeIndex::for_runs(std::int64_t query, std::int64_t first, std::int64_t count,
                             const Function& function) const {
  const std::int32_t* const rows = row(query);
  if (!differences_) return function(first, count, rows[first], std::int64_t{2});
  const std::int64_t origin = queries_ - 1 - query, begin = origin + first, end = begin + count;
  auto run = std::ranges::upper_bound(runs_, begin, {}, &Run::end);
  for (; run != runs_.end() && run->begin < end; ++run) {
    const std::int64_t from = std::max(begin, run->begin), to = std::min(end, run->end);
    function(from - origin, to - from, rows[from - origin], run->step);
  }
}

enum class RelativeSide { query, key };

// A term of a whole attention whose queries and keys are the same tokens (TiledAttention).
enum class RelativeUse {
  query_scores,  // query_i . table[index(i, j)], added to q.k before the scale
  key_scores,    // key_j . table[index(i, j)], the same
  values,        // table[index(i, j)], added to the value of key j
};
struct RelativeTerm {
  at::Tensor table;     // [1 or H, R, D]
  RelativeIndex index;  // of differences, for the longest text
  RelativeUse use = RelativeUse::query_scores;
};

struct RelativeProducts {
  at::Tensor scores;   // [B, H, Lq, Lk], changed in place, float or double
  at::Tensor vectors;  // [B, H, Lq, D], or [B, H, Lk, D] for the key's side
  at::Tensor table;    // [1 or H, R, D]
  const RelativeIndex& index;
  RelativeSide side = RelativeSide::query;
};

// scores[i, j] += vectors[i or j] . table[index(i, j)]
at::Tensor add_relative_products(const RelativeProducts& products);

// sum over j of weights[i, j] * table[index(i, j)]. weights [B, H, Lq, Lk], table [1 or H, R, D]
// -> [B, H, Lq, D].
at::Tensor relative_sums(const at::Tensor& weights, const at::Tensor& table,
                         const RelativeIndex& index);

// values[h, index(i, j)]. values [H, R] -> [1, H, Lq, Lk].
at::Tensor expand_relative(const at::Tensor& values, const RelativeIndex& index);

}  // namespace roformer
