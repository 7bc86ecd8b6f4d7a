// Shared by the attention kernels (tiled_attention.cu): the visible pairs of a tile and the numbers
// added to them, a thread's place among its warp's sums, and the parts of shared memory.
#pragma once

#include "tensor/gpu/sources/matrix.h"
#include "tensor/gpu/tiled_attention.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

using gpu::AttentionPairTile;
using gpu::AttentionTable;
using gpu::AttentionText;
using gpu::AttentionTile;
using gpu::AttentionWork;
using gpu::kAddsNothing;
using gpu::kAddsPairs;
using gpu::kAddsTable;
using gpu::kSlopePadding;
using gpu::kTileRows;
using gpu::kTileThreads;
using Bfloat16 = c10::BFloat16;

inline constexpr float kLogarithmOf2 = 0.693147180559945309f;
inline constexpr float kUnitsOfScore = 1.44269504088896341f;  // 1 / log 2

// Rows that stream past at once.
template <int kWidth>
inline constexpr int kStreamed = gpu::streamed_rows(kWidth);

ROFORMER_INLINE float minus_infinity() {
  const std::uint32_t bits = 0xff800000u;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

ROFORMER_INLINE std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
ROFORMER_INLINE std::int64_t most(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}

template <typename T>
ROFORMER_INLINE void exchange(T& a, T& b) {
  const T other = a;
  a = b;
  b = other;
}

struct Range {
  std::int64_t begin, end;
};

// A thread's place in the RowSums of its warp.
struct Place {
  int warp, row, column;

  ROFORMER_INLINE Place()
      : warp(static_cast<int>(threadIdx.x / 32)),
        row(static_cast<int>(threadIdx.x % 32 / 4)),
        column(static_cast<int>(threadIdx.x % 4 * 2)) {}
  // The row of an element among the block's own rows, and among the streamed ones.
  ROFORMER_INLINE int own(int element) const { return warp * 16 + row + element / 2 * 8; }
  ROFORMER_INLINE int streamed(int group, int element) const {
    return group * 8 + column + element % 2;
  }
};

// Calls each(group, element) for all of a thread's sums of kCount columns.
template <int kCount, typename Each>
ROFORMER_INLINE void for_sums(const Each& each) {
#pragma unroll
  for (int group = 0; group < kCount / 8; ++group) {
#pragma unroll
    for (int element = 0; element < 4; ++element) each(group, element);
  }
}

// Combines the values of the four threads that share a row.
template <typename Operation>
ROFORMER_INLINE float over_row(float value, Operation together) {
  value = together(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return together(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

// The pairs of a tile: its own rows with those that stream past, numbered within it. kAdded is the
// kind of term that is added to each (tensor/gpu/tiled_attention.h).
template <int kAdded, bool kKeysOwn>  // else the own rows are queries
struct TilePairs {
  int own, streamed;   // that there are
  int diagonal;        // key - query at most
  float scale;         // to units of log 2
  const float* table;  // the term for key - query = 0, in shared memory
  const float* pairs;  // the term for the first query and key
  std::int64_t row;    // of `pairs`, to the next query

  ROFORMER_INLINE bool visible(int of_own, int of_streamed) const {
    const int difference = kKeysOwn ? of_own - of_streamed : of_streamed - of_own;
    return of_own < own && of_streamed < streamed && difference <= diagonal;
  }

  // The initial values of sums of products: numbers for pairs, whose loads should start early.
  template <int kCount>
  ROFORMER_INLINE void begin(const Place& place, RowSums<kCount>& scores) const {
    if constexpr (kAdded == kAddsPairs) {
      for_sums<kCount>([&](int n, int e) {
        const int of_own = place.own(e), of_streamed = place.streamed(n, e);
        const int query = kKeysOwn ? of_streamed : of_own, key = kKeysOwn ? of_own : of_streamed;
        const bool is_there = of_own < own && of_streamed < streamed;
        scores.groups[n][e] = pairs[is_there ? query * row + key : 0] * (kUnitsOfScore / scale);
      });
    }
  }
  // From such a sum; a table is read whether the pair is visible or not.
  ROFORMER_INLINE float score(float sum, int of_own, int of_streamed) const {
    float result = sum * scale;
    if constexpr (kAdded == kAddsTable) {
      result += table[kKeysOwn ? of_own - of_streamed : of_streamed - of_own] * kUnitsOfScore;
    }
    return visible(of_own, of_streamed) ? result : minus_infinity();
  }
};

// The visible pairs of one head in one text.
template <int kAdded>
struct Pairs {
  const AttentionText& text;
  std::int64_t head;
  float scale;                   // to units of log 2
  std::int64_t lowest, highest;  // j - i that may be visible

  ROFORMER_INLINE Pairs(const AttentionWork& o, const AttentionText& of, std::int64_t of_head)
      : text(of),
        head(of_head),
        scale(o.scale * kUnitsOfScore),
        lowest(1 - of.query_length),
        highest(o.causal ? of.key_length - of.query_length : of.key_length - 1) {
    if constexpr (kAdded == kAddsTable) {
      lowest = most(lowest, text.windows[2 * head]);
      highest = least(highest, text.windows[2 * head + 1]);
    }
  }

  ROFORMER_INLINE const float* additive() const {
    return text.additive + head * text.additive_head;
  }

  // Keys that `count` queries from `first` on see among them.
  ROFORMER_INLINE Range keys_of(std::int64_t first, std::int64_t count) const {
    const std::int64_t last = least(first + count, text.query_length) - 1;
    return {most(0, first + lowest), least(text.key_length, last + highest + 1)};
  }
  // Queries that see any of `count` keys from `first` on.
  ROFORMER_INLINE Range queries_of(std::int64_t first, std::int64_t count) const {
    const std::int64_t last = least(first + count, text.key_length) - 1;
    return {most(0, first - highest), least(text.query_length, last - lowest + 1)};
  }

  // The tile that begins at a query and a key, limited by the text and the `end` of the streamed
  // rows. `table`: the number for key - query = 0 within the tile.
  template <bool kKeysOwn>
  ROFORMER_INLINE TilePairs<kAdded, kKeysOwn> tile(std::int64_t query, std::int64_t key,
                                                   std::int64_t end, const float* table) const {
    return {.own = static_cast<int>(kKeysOwn ? text.key_length - key : text.query_length - query),
            .streamed = static_cast<int>(end - (kKeysOwn ? query : key)),
            .diagonal = static_cast<int>(highest - key + query),
            .scale = scale,
            .table = table,
            .pairs = kAdded == kAddsPairs ? additive() + query * text.additive_row + key : nullptr,
            .row = text.additive_row};
  }

  // Begins to copy the terms for the differences `from` to from + kCount - 1; 0 outside.
  template <int kCount>
  ROFORMER_INLINE void begin_table(float* to, std::int64_t from) const {
    static_assert(kCount <= kTileThreads);
    if constexpr (kAdded == kAddsTable) {
      const int x = static_cast<int>(threadIdx.x);
      if (x >= kCount) return;
      const std::int64_t difference = from + x;
      const bool is_there = difference > -text.query_length && difference < text.key_length;
      begin_copy<4>(to + x, additive() + (is_there ? difference : 0), is_there);
    }
  }
};

// Shared memory that a block's parts take one after another.
struct SharedParts {
  unsigned char* next;

  ROFORMER_INLINE SharedParts() : next(dynamic_shared()) {}
  template <int kWidth>
  ROFORMER_INLINE Bfloat16* rows(int count) {
    Bfloat16* const here = reinterpret_cast<Bfloat16*>(next);
    next += static_cast<std::size_t>(count) * kStride<kWidth> * sizeof(Bfloat16);
    return here;
  }
  ROFORMER_INLINE float* numbers(int count) {
    float* const here = reinterpret_cast<float*>(next);
    next += static_cast<std::size_t>(count) * sizeof(float);
    return here;
  }
};

// Two kinds of rows, their terms and a table by difference, as they stream past. The block computes
// with one stage while the other fills.
template <int kWidth>
struct Stage {
  static constexpr int kRows = kStreamed<kWidth>;
  static constexpr int kTable = kTileRows + kRows - 1;
  Bfloat16* first;

  ROFORMER_INLINE explicit Stage(SharedParts& memory) : first(memory.rows<kWidth>(2 * kRows)) {
    memory.numbers(kTileRows + 3 * kRows);
  }
  ROFORMER_INLINE Bfloat16* second() const { return first + kRows * kStride<kWidth>; }
  ROFORMER_INLINE float* logarithm() const {
    return reinterpret_cast<float*>(first + 2 * kRows * kStride<kWidth>);
  }
  ROFORMER_INLINE float* shift() const { return logarithm() + kRows; }
  ROFORMER_INLINE float* table() const { return shift() + kRows; }
};

// Keys and values of a head from `first` on, and the terms for a tile of queries with them.
template <int kWidth, int kAdded>
ROFORMER_INLINE void begin_keys(const AttentionWork& o, const Pairs<kAdded>& pairs,
                                std::int64_t query, std::int64_t first, std::int64_t end,
                                const Stage<kWidth>& to) {
  constexpr int kKeys = kStreamed<kWidth>;
  const std::int64_t row = pairs.text.key_begin + first, column = pairs.head / o.sharing * kWidth;
  begin_rows<kWidth, kKeys, kTileThreads>(to.first, o.key + row * o.key_row + column, o.key_row,
                                          end - first);
  begin_rows<kWidth, kKeys, kTileThreads>(to.second(), o.value + row * o.value_row + column,
                                          o.value_row, end - first);
  pairs.template begin_table<Stage<kWidth>::kTable>(to.table(), first - query - (kTileRows - 1));
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
