// Loops along rows of scores: the softmax, and those in which each key waits for the keys on one
// side of it, stick-breaking and positions that gates count. What waits is a bare sum, taken of
// several rows at once; all else is done before or after it, key upon key.
#pragma once

#include "tensor/attention_kernels.h"
#include "tensor/cpu/attention_loops.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// ln(1 + y) for y from 0 to 1, as precise at its lower end: 2 atanh(y / (2 + y)) by its series,
// whose rest is below 2e-9 of it.
ROFORMER_INLINE float logarithm_of_one_and(float y) {
  const float z = y / (2.0f + y), square = z * z;
  float sum = 1.0f / 15;
  sum = sum * square + 1.0f / 13;
  sum = sum * square + 1.0f / 11;
  sum = sum * square + 1.0f / 9;
  sum = sum * square + 1.0f / 7;
  sum = sum * square + 1.0f / 5;
  sum = sum * square + 1.0f / 3;
  sum = sum * square + 1.0f;
  return 2.0f * z * sum;
}
ROFORMER_INLINE double logarithm_of_one_and(double y) {
  return std::log1p(y);
}

// Calls function(row, std::integral_constant<rows>) for rows together, then for those left over.
template <typename Function>
ROFORMER_INLINE void for_rows_together(std::int64_t begin, std::int64_t end,
                                       const Function& function) {
  std::int64_t row = begin;
  for (; row + kRowsTogether <= end; row += kRowsTogether) {
    function(row, std::integral_constant<std::int64_t, kRowsTogether>());
  }
  for (; row < end; ++row) function(row, std::integral_constant<std::int64_t, 1>());
}

// The same with whether some keys are hidden, std::true_type or std::false_type.
template <typename Function>
ROFORMER_INLINE void for_seen_rows(const VisiblePairs& pairs, std::int64_t begin, std::int64_t end,
                                   const Function& function) {
  for_rows_together(begin, end, [&](std::int64_t row, auto rows) ROFORMER_INLINED {
    if (pairs.visible == nullptr) {
      function(row, rows, std::false_type());
    } else {
      function(row, rows, std::true_type());
    }
  });
}

// Calls function(begin, count) for parts of a row from its end to its beginning.
template <typename Function>
ROFORMER_INLINE void for_parts_backwards(std::int64_t columns, const Function& function) {
  for (std::int64_t end = columns; end > 0; end -= std::min(kPart, end)) {
    function(end - std::min(kPart, end), std::min(kPart, end));
  }
}

// values become their sums from the last one on: sums[r] + values[r][count - 1] + .. +
// values[r][c].
template <std::int64_t rows, typename A>
ROFORMER_INLINE void sum_backwards(A (&values)[rows][kPart], std::int64_t count, A (&sums)[rows]) {
  for (std::int64_t c = count; c-- > 0;) {
    for (std::int64_t r = 0; r < rows; ++r) values[r][c] = sums[r] += values[r][c];
  }
}
template <std::int64_t rows, typename A>
ROFORMER_INLINE void sum_forwards(A (&values)[rows][kPart], std::int64_t count, A (&sums)[rows]) {
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) values[r][c] = sums[r] += values[r][c];
  }
}

// 1 where a key is seen, 0 where it is hidden: a factor, since loops that choose do without
// vectors.
template <bool hides, typename A>
ROFORMER_INLINE void seen_keys(const VisiblePairs& pairs, std::int64_t row, std::int64_t begin,
                               std::int64_t count, A* __restrict seen) {
  if (!hides) return;
  // The vectoriser has no vectors of bool.
  const auto* __restrict visible = reinterpret_cast<const std::uint8_t*>(pairs.of(row) + begin);
  for (std::int64_t c = 0; c < count; ++c) seen[c] = static_cast<A>(visible[c]);
}

// A row's scores with its bias, -infinity where hidden.
template <bool hides, typename A>
ROFORMER_INLINE void bias_row(const SoftmaxRows<A>& o, std::int64_t row, A* scores) {
  const A* const bias = o.bias == nullptr ? nullptr : o.bias + row % o.bias_rows * o.pairs.keys;
  for_parts(o.pairs.keys, [&](std::int64_t begin, std::int64_t count) ROFORMER_INLINED {
    A* __restrict part = scores + begin;
    for (std::int64_t c = 0; bias != nullptr && c < count; ++c) part[c] += bias[begin + c];
    if (!hides) return;
    A seen[kPart];
    seen_keys<hides>(o.pairs, row, begin, count, seen);
    constexpr A kHidden = -std::numeric_limits<A>::infinity();
    for (std::int64_t c = 0; c < count; ++c) part[c] = seen[c] > 0 ? part[c] : kHidden;
  });
}

template <bool hides, typename A>
ROFORMER_INLINE void softmax_row(const SoftmaxRows<A>& o, std::int64_t row) {
  const std::int64_t keys = o.pairs.keys;
  A* const scores = o.scores + row * keys;
  if (hides || o.bias != nullptr) bias_row<hides>(o, row, scores);
  const A largest = largest_of(scores, keys);
  const A shift = largest > -std::numeric_limits<A>::infinity() ? largest : A(0);
  for (std::int64_t c = 0; c < keys; ++c) scores[c] = power_of(scores[c] - shift);
  const A total = sum_of(scores, keys), factor = total == 0 ? A(0) : A(1) / total;
  for (std::int64_t c = 0; c < keys; ++c) scores[c] *= factor;
}

template <typename A>
void softmax_rows(const SoftmaxRows<A>& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    if (o.pairs.visible == nullptr) {
      softmax_row<false>(o, row);
    } else {
      softmax_row<true>(o, row);
    }
  }
}

// The sigmoid, and ln(1 + e^score) besides.
template <typename A>
ROFORMER_INLINE A share_of(A score, A& taken) {
  const A size = std::fabs(score), power = exponential(-size);
  const A inverse = A(1) / (A(1) + power);
  taken = (score > 0 ? score : A(0)) + logarithm_of_one_and(power);
  return score > 0 ? inverse : power * inverse;
}
template <typename A>
ROFORMER_INLINE A share_of(A score) {
  const A power = exponential(-std::fabs(score)), inverse = A(1) / (A(1) + power);
  return score > 0 ? inverse : power * inverse;
}

template <std::int64_t rows, bool hides, typename A>
ROFORMER_INLINE void break_rows(const BreakSticks<A>& o, std::int64_t row) {
  const std::int64_t keys = o.pairs.keys;
  A left[rows] = {};  // minus the logarithm of what is left of the stick
  for_parts_backwards(keys, [&](std::int64_t begin, std::int64_t count) ROFORMER_INLINED {
    A taken[rows][kPart], seen[rows][kPart], unwanted[kPart];
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t start = (row + r) * keys + begin;
      const A* __restrict scores = o.scores + start;
      A* __restrict shares = o.shares == nullptr ? unwanted : o.shares + start;
      seen_keys<hides>(o.pairs, row + r, begin, count, seen[r]);
      for (std::int64_t c = 0; c < count; ++c) {
        A whole;
        const A share = share_of(scores[c], whole), factor = hides ? seen[r][c] : A(1);
        shares[c] = share * factor;
        taken[r][c] = whole * factor;
      }
    }
    sum_backwards(taken, count, left);
    for (std::int64_t r = 0; r < rows; ++r) {
      A* __restrict scores = o.scores + (row + r) * keys + begin;
      for (std::int64_t c = 0; c < count; ++c) {
        // What is hidden took nothing, so that its score may be any number, of which no power is
        // asked.
        const A logarithm = scores[c] - taken[r][c];
        scores[c] = power_of(logarithm > 0 ? A(0) : logarithm) * (hides ? seen[r][c] : A(1));
      }
    }
  });
  for (std::int64_t r = 0; r < rows; ++r) o.remainder[row + r] = power_of(-left[r]);
}

template <typename A>
void break_sticks(const BreakSticks<A>& o, std::int64_t begin, std::int64_t end) {
  for_seen_rows(o.pairs, begin, end, [&](std::int64_t row, auto rows, auto hides) ROFORMER_INLINED {
    break_rows<rows(), hides()>(o, row);
  });
}

// ds_j = w_j g_j - share_j (sum over m <= j of w_m g_m + remainder * its gradient).
template <typename A>
void stick_slopes(const StickSlopes<A>& o, std::int64_t begin, std::int64_t end) {
  for_rows_together(begin, end, [&](std::int64_t row, auto together) ROFORMER_INLINED {
    constexpr std::int64_t rows = together();
    A sums[rows] = {};
    for (std::int64_t r = 0; r < rows && o.remainder_slopes != nullptr; ++r) {
      sums[r] = o.remainder[row + r] * o.remainder_slopes[row + r];
    }
    for_parts(o.keys, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      A running[rows][kPart];
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t start = (row + r) * o.keys + first;
        A* __restrict slopes = o.slopes + start;
        const A* __restrict weights = o.weights + start;
        for (std::int64_t c = 0; c < count; ++c) running[r][c] = slopes[c] *= weights[c];
      }
      sum_forwards(running, count, sums);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t start = (row + r) * o.keys + first;
        A* __restrict slopes = o.slopes + start;
        const A* __restrict shares = o.shares + start;
        for (std::int64_t c = 0; c < count; ++c) slopes[c] -= shares[c] * running[r][c];
      }
    });
  });
}

// Where the positions of some keys lie in a row of products: the whole position below, the products
// there and at the next, and the next one's share.
template <typename A>
struct Places {
  // The next one also where the position is whole, which rounding decides: its slope is that of the
  // positions behind it then, and not none.
  std::int32_t low[kPart], high[kPart];
  A share[kPart], below[kPart], above[kPart];

  ROFORMER_INLINE void find(const A* __restrict sums, const A* __restrict products,
                            std::int32_t last, std::int64_t count) {
    const A most = static_cast<A>(last);
    for (std::int64_t c = 0; c < count; ++c) {
      const A position = sums[c] < most ? sums[c] : most;
      low[c] = static_cast<std::int32_t>(position);
      share[c] = position - static_cast<A>(low[c]);
      high[c] = low[c] < last ? low[c] + 1 : last;
    }
    for (std::int64_t c = 0; c < count; ++c) below[c] = products[low[c]];
    for (std::int64_t c = 0; c < count; ++c) above[c] = products[high[c]];
  }
};

template <std::int64_t rows, bool hides, typename A>
ROFORMER_INLINE void count_rows(const ContextualScores<A>& o, std::int64_t row) {
  const std::int64_t keys = o.pairs.keys;
  const auto last = static_cast<std::int32_t>(o.positions - 1);
  A sums[rows] = {};
  for_parts_backwards(keys, [&](std::int64_t begin, std::int64_t count) ROFORMER_INLINED {
    A position[rows][kPart], seen[kPart];
    Places<A> places;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t start = (row + r) * keys + begin;
      const A* __restrict scores = o.scores + start;
      A* __restrict gates = o.gates + start;
      seen_keys<hides>(o.pairs, row + r, begin, count, seen);
      for (std::int64_t c = 0; c < count; ++c) {
        gates[c] = position[r][c] = share_of(scores[c]) * (hides ? seen[c] : A(1));
      }
    }
    sum_backwards(position, count, sums);
    for (std::int64_t r = 0; r < rows; ++r) {
      A* __restrict scores = o.scores + (row + r) * keys + begin;
      places.find(position[r], o.products + (row + r) * o.positions, last, count);
      for (std::int64_t c = 0; c < count; ++c) {
        scores[c] += places.below[c] + (places.above[c] - places.below[c]) * places.share[c];
      }
    }
  });
}

template <typename A>
void add_contextual(const ContextualScores<A>& o, std::int64_t begin, std::int64_t end) {
  for_seen_rows(o.pairs, begin, end, [&](std::int64_t row, auto rows, auto hides) ROFORMER_INLINED {
    count_rows<rows(), hides()>(o, row);
  });
}

// No gradient flows through floor, ceil and min.
template <typename A>
void contextual_slopes(const ContextualSlopes<A>& o, std::int64_t begin, std::int64_t end) {
  const auto last = static_cast<std::int32_t>(o.positions - 1);
  for_rows_together(begin, end, [&](std::int64_t row, auto together) ROFORMER_INLINED {
    constexpr std::int64_t rows = together();
    A sums[rows] = {};
    for_parts_backwards(o.keys, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      A position[rows][kPart];
      Places<A> places[rows];
      for (std::int64_t r = 0; r < rows; ++r) {
        const A* __restrict gates = o.gates + (row + r) * o.keys + first;
        for (std::int64_t c = 0; c < count; ++c) position[r][c] = gates[c];
      }
      sum_backwards(position, count, sums);
      for (std::int64_t r = 0; r < rows; ++r) {
        const A* __restrict slopes = o.slopes + (row + r) * o.keys + first;
        A* __restrict to_position = o.memory + r * o.keys + first;
        places[r].find(position[r], o.products + (row + r) * o.positions, last, count);
        for (std::int64_t c = 0; c < count; ++c) {
          const A step = places[r].above[c] - places[r].below[c];
          to_position[c] = slopes[c] * (position[r][c] < static_cast<A>(last) ? step : A(0));
        }
      }
      // Neighbouring keys of a row add to the same numbers, those of other rows meanwhile to
      // others.
      for (std::int64_t c = 0; c < count; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const A slope = o.slopes[(row + r) * o.keys + first + c], share = places[r].share[c];
          A* const to_products = o.to_products + (row + r) * o.positions;
          to_products[places[r].low[c]] += slope * (A(1) - share);
          to_products[places[r].high[c]] += slope * share;
        }
      }
    });
    A to_gates[rows] = {};
    for_parts(o.keys, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      A running[rows][kPart];
      for (std::int64_t r = 0; r < rows; ++r) {
        const A* __restrict to_position = o.memory + r * o.keys + first;
        for (std::int64_t c = 0; c < count; ++c) running[r][c] = to_position[c];
      }
      sum_forwards(running, count, to_gates);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t start = (row + r) * o.keys + first;
        A* __restrict slopes = o.slopes + start;
        const A* __restrict gates = o.gates + start;
        for (std::int64_t c = 0; c < count; ++c) {
          slopes[c] += running[r][c] * gates[c] * (A(1) - gates[c]);
        }
      }
    });
  });
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
