// Rows of logits: the loss at a target with its gradient, and the largest values of a row.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <typename T>
RowLoss cross_entropy_row(const CrossEntropyRow<T>& o) {
  using A = Accumulate<T>;
  T* __restrict logits = o.logits;
  const A* __restrict bias = o.bias;
  const std::int64_t columns = o.columns;
  // Replaces each number by function(number, column).
  const auto replace = [&](const auto& function) {
    for_parts(columns, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      RowResult<T, kPart> results;
      A* const result = results.begin(logits + first);
      for (std::int64_t c = 0; c < count; ++c) {
        result[c] = function(load(logits[first + c]), first + c);
      }
      results.end(logits + first, count);
    });
  };
  if (o.label < 0) {
    replace([](A, std::int64_t) { return A(0); });
    return {};
  }
  replace([&](A logit, std::int64_t c) { return logit + bias[c]; });
  const A largest = largest_of(logits, columns);
  const A sum = o.smoothing > 0 ? sum_of(logits, columns) : A(0);
  const A at_label = load(logits[o.label]);
  RowLoss result{.correct = at_label >= largest};
  if (result.correct) {
    // The first of equal logits counts: bfloat16 has many equal ones.
    std::int32_t before = 0;
    for (std::int64_t c = 0; c < o.label; ++c) before |= load(logits[c]) >= at_label ? 1 : 0;
    result.correct = before == 0;
  }
  A total = 0;
  for_parts(columns, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
    RowResult<T, kPart> results;
    A* const result = results.begin(logits + first);
    A sum = 0;  // local, because a sum through a reference is not vectorised
    for (std::int64_t c = 0; c < count; ++c) {
      const A power = exponential(load(logits[first + c]) - largest);
      result[c] = power;
      sum += power;
    }
    total += sum;
    results.end(logits + first, count);
  });
  const A factor = A(1) / total;
  const A share = static_cast<A>(o.smoothing / static_cast<double>(columns));
  replace([&](A power, std::int64_t) { return power * factor - share; });
  // Not from the rounded probability: 1 - p counts, and bfloat16 is only precise to 0.002 near 1.
  store(logits[o.label],
        exponential(at_label - largest) * factor - share - static_cast<A>(1 - o.smoothing));
  const double logarithm = std::log(static_cast<double>(total));
  result.loss = logarithm + static_cast<double>(largest - at_label);
  const double mean = logarithm + static_cast<double>(largest) -
                      static_cast<double>(sum) / static_cast<double>(columns);
  result.smoothed = (1 - o.smoothing) * result.loss + o.smoothing * mean;
  return result;
}

// An entry of a heap of the largest values so far, with the least at its root; among equals the
// higher id is less.
template <typename A>
struct Candidate {
  A value;
  std::int64_t id;
  bool before(const Candidate& other) const {
    return value > other.value || (value == other.value && id < other.id);
  }
};

// A type in this instruction set's namespace: the linker may use one copy of std::vector<float>'s
// functions for the whole program.
template <typename A>
struct BlockLargest {
  A value;
};

// Two vectorised passes over the row; then only blocks whose largest value exceeds the least of the
// heap are searched.
template <typename T>
void row_tops(const RowTops<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  constexpr std::int64_t kBlock = 128;
  const auto ranks_before = [](const Candidate<A>& a, const Candidate<A>& b) {
    return a.before(b);
  };
  std::vector<BlockLargest<A>> block_largest(
      static_cast<std::size_t>((o.columns + kBlock - 1) / kBlock));
  std::vector<Candidate<A>> held;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict logits = o.logits + row * o.columns;
    A largest = -std::numeric_limits<A>::infinity();
    for (std::int64_t first = 0, block = 0; first < o.columns; first += kBlock, ++block) {
      const A most = largest_of(logits + first, std::min(kBlock, o.columns - first));
      block_largest[static_cast<std::size_t>(block)].value = most;
      largest = most > largest ? most : largest;
    }
    A total = 0;
    for (std::int64_t c = 0; c < o.columns; ++c) total += exponential(load(logits[c]) - largest);
    store(o.normalizers[row], largest + static_cast<A>(std::log(static_cast<double>(total))));
    held.clear();
    for (std::int64_t first = 0, block = 0; first < o.columns; first += kBlock, ++block) {
      const bool full = static_cast<std::int64_t>(held.size()) == o.wanted;
      if (full && !(block_largest[static_cast<std::size_t>(block)].value > held.front().value))
        continue;
      const std::int64_t last = first + kBlock < o.columns ? first + kBlock : o.columns;
      for (std::int64_t c = first; c < last; ++c) {
        const A value = load(logits[c]);
        if (static_cast<std::int64_t>(held.size()) == o.wanted) {
          if (!(value > held.front().value)) continue;
          std::pop_heap(held.begin(), held.end(), ranks_before);
          held.pop_back();
        }
        held.push_back({value, c});
        std::push_heap(held.begin(), held.end(), ranks_before);
      }
    }
    std::sort_heap(held.begin(), held.end(), ranks_before);
    for (std::int64_t i = 0; i < o.wanted; ++i) {
      store(o.values[row * o.wanted + i], held[static_cast<std::size_t>(i)].value);
      o.ids[row * o.wanted + i] = held[static_cast<std::size_t>(i)].id;
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
