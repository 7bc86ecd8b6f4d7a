// Softmax attention by tiles (tensor/gpu/tiled_attention.h). A block has 64 rows of one head, 16 of
// each of its four warps: queries, which keys and values stream past, or for the gradients of keys
// and values these, and queries stream past. While it computes with some rows the next ones come.
// Scores are in units of log 2 inside. No sum depends on the order in which blocks run.
#include "tensor/gpu/sources/matrix.h"
#include "tensor/gpu/tiled_attention.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

using gpu::AttentionPairTile;
using gpu::AttentionTable;
using gpu::AttentionText;
using gpu::AttentionTile;
using gpu::AttentionWork;
using gpu::kTileRows;
using Bfloat16 = c10::BFloat16;

inline constexpr float kLogarithmOf2 = 0.693147180559945309f;
inline constexpr float kUnitsOfScore = 1.44269504088896341f;  // 1 / log 2

// Rows that stream past at once.
template <int kWidth>
inline constexpr int kStreamed = kWidth > 64 ? 32 : 64;

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

struct Range {
  std::int64_t begin, end;
};

// The pairs of a tile: its own rows with those that stream past, numbered within it.
template <bool kKeysOwn>  // else the own rows are queries
struct TilePairs {
  int own, streamed;   // that there are
  int diagonal;        // key - query at most
  float scale;         // to units of log 2
  const float* table;  // what is added for key - query = 0; or null
  const float* pairs;  // for the first query and key; or null
  std::int64_t row;    // of `pairs`, to the next query

  ROFORMER_INLINE float score(float product, int of_own, int of_streamed) const {
    const int query = kKeysOwn ? of_streamed : of_own, key = kKeysOwn ? of_own : of_streamed;
    if (of_own >= own || of_streamed >= streamed || key - query > diagonal) {
      return minus_infinity();
    }
    float added = 0;
    if (table != nullptr) {
      added = table[key - query];
    } else if (pairs != nullptr) {
      added = pairs[query * row + key];
    }
    return product * scale + added * kUnitsOfScore;
  }
};

// What one head of one text sees of its pairs.
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
    if (text.windows == nullptr) return;
    lowest = most(lowest, text.windows[2 * head]);
    highest = least(highest, text.windows[2 * head + 1]);
  }

  ROFORMER_INLINE bool by_difference() const {
    return text.additive != nullptr && text.additive_row == -1;
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

  // Those from a query and a key on, as far as the text and `end` of what streams past; `table`:
  // what is added for key - query = 0 within the tile, where that is by difference.
  template <bool kKeysOwn>
  ROFORMER_INLINE TilePairs<kKeysOwn> tile(std::int64_t query, std::int64_t key, std::int64_t end,
                                           const float* table) const {
    const bool of_pairs = text.additive != nullptr && !by_difference();
    return {.own = static_cast<int>(kKeysOwn ? text.key_length - key : text.query_length - query),
            .streamed = static_cast<int>(end - (kKeysOwn ? query : key)),
            .diagonal = static_cast<int>(highest - key + query),
            .scale = scale,
            .table = by_difference() ? table : nullptr,
            .pairs = of_pairs ? additive() + query * text.additive_row + key : nullptr,
            .row = text.additive_row};
  }

  // Begins to copy what is added for the differences `from` to from + kCount - 1.
  template <int kCount>
  ROFORMER_INLINE void begin_table(float* to, std::int64_t from) const {
    if (!by_difference()) return;
    for (int x = static_cast<int>(threadIdx.x); x < kCount; x += static_cast<int>(blockDim.x)) {
      const std::int64_t difference = from + x;
      if (difference <= -text.query_length || difference >= text.key_length) {
        to[x] = 0;
      } else {
        begin_copy<4>(to + x, additive() + difference);
      }
    }
  }
};

// A thread's place in the RowSums of its warp.
struct Place {
  int warp, row, column;

  ROFORMER_INLINE Place()
      : warp(static_cast<int>(threadIdx.x / 32)),
        row(static_cast<int>(threadIdx.x % 32 / 4)),
        column(static_cast<int>(threadIdx.x % 4 * 2)) {}
  // Of the block's rows, and the streamed ones.
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

template <typename T>
ROFORMER_INLINE void exchange(T& a, T& b) {
  const T other = a;
  a = b;
  b = other;
}

template <typename Operation>
ROFORMER_INLINE float over_row(float value, Operation together) {
  value = together(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return together(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

// Memory that a block's parts take one after another.
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
    next += (static_cast<std::size_t>(count) * sizeof(float) + 15) / 16 * 16;
    return here;
  }
};

// Two kinds of rows, what goes with them and a table by difference, as they stream past: one stage
// is computed with while the other fills.
template <int kWidth>
struct Stage {
  static constexpr int kRows = kStreamed<kWidth>;
  static constexpr int kTable = kTileRows + kRows - 1;
  Bfloat16 *first, *second;
  float *table, *logarithm, *shift;

  ROFORMER_INLINE explicit Stage(SharedParts& memory)
      : first(memory.rows<kWidth>(kRows)),
        second(memory.rows<kWidth>(kRows)),
        table(memory.numbers(kTable)),
        logarithm(memory.numbers(kRows)),
        shift(memory.numbers(kRows)) {}
};

// One block a tile of queries (x) and a head (y).
template <int kWidth>
__global__ void attention_forward(AttentionWork o) {
  constexpr int kKeys = kStreamed<kWidth>;
  const AttentionTile tile = o.tiles[blockIdx.x];
  const AttentionText text = o.texts[tile.text];
  const std::int64_t head = blockIdx.y, key_head = head / o.sharing;
  const Pairs pairs(o, text, head);
  const Place place;
  SharedParts memory;
  Bfloat16* const queries = memory.rows<kWidth>(kTileRows);
  Stage<kWidth> stage(memory), next(memory);
  const std::int64_t token = text.query_begin + tile.first;
  const std::int64_t there = text.query_length - tile.first;
  const Range range = pairs.keys_of(tile.first, kTileRows);
  const auto begin_keys = [&](const Stage<kWidth>& to, std::int64_t first) {
    const std::int64_t row = text.key_begin + first;
    begin_rows<kWidth, kKeys>(to.first, o.key + row * o.key_row + key_head * kWidth, o.key_row,
                              range.end - first);
    begin_rows<kWidth, kKeys>(to.second, o.value + row * o.value_row + key_head * kWidth,
                              o.value_row, range.end - first);
    pairs.begin_table<Stage<kWidth>::kTable>(to.table, first - tile.first - (kTileRows - 1));
  };
  begin_rows<kWidth, kTileRows>(queries, o.query + token * o.query_row + head * kWidth, o.query_row,
                                there);
  if (range.begin < range.end) begin_keys(stage, range.begin);

  RowSums<kWidth> sums;
  float largest[2] = {minus_infinity(), minus_infinity()}, total[2] = {0, 0};
  for (std::int64_t first = range.begin; first < range.end; first += kKeys, exchange(stage, next)) {
    wait_for_copies();
    __syncthreads();  // everyone's copies are here, and the other stage has been read
    if (first + kKeys < range.end) begin_keys(next, first + kKeys);
    RowSums<kKeys> scores;
    add_products_of_rows<kWidth, kKeys>(queries + place.warp * 16 * kStride<kWidth>, stage.first,
                                        scores);
    const auto tile_pairs =
        pairs.tile<false>(tile.first, first, range.end, stage.table + kTileRows - 1);
    float now[2] = {largest[0], largest[1]};
    for_sums<kKeys>([&](int n, int e) {
      float& score = scores.groups[n][e];
      score = tile_pairs.score(score, place.own(e), place.streamed(n, e));
      now[e / 2] = Largest()(now[e / 2], score);
    });
    float zero[2];
    for (int half = 0; half < 2; ++half) {
      now[half] = over_row(now[half], Largest());
      zero[half] = now[half] == minus_infinity() ? 0.0f : now[half];
      const float factor = std::exp2(largest[half] - zero[half]);
      largest[half] = now[half];
      total[half] *= factor;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        sums.groups[n][2 * half] *= factor;
        sums.groups[n][2 * half + 1] *= factor;
      }
    }
    for_sums<kKeys>([&](int n, int e) {
      float& score = scores.groups[n][e];
      score = std::exp2(score - zero[e / 2]);
      total[e / 2] += score;
    });
    add_weighted_rows<kWidth, kKeys>(scores, stage.second, sums);
  }
  wait_for_copies();  // of queries that see nothing

  float factors[2];
  for (int half = 0; half < 2; ++half) {
    total[half] = over_row(total[half], Sum());
    factors[half] = total[half] > 0 ? 1.0f / total[half] : 0.0f;
    const int row = place.own(2 * half);
    if (place.column == 0 && row < there) {
      o.logarithm[head * o.tokens + token + row] =
          total[half] > 0 ? largest[half] * kLogarithmOf2 + std::log(total[half])
                          : -minus_infinity();
    }
  }
  const std::int64_t own = token + place.warp * 16;
  store_rows<kWidth>(sums, factors, o.output + own * o.output_row + head * kWidth, o.output_row,
                     there - place.warp * 16);
}

// A warp a token (over x) and a head (y): the sums of output * its gradient.
template <int kWidth>
__global__ void attention_shift(AttentionWork o) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / 32) + warp;
  const std::int64_t head = blockIdx.y;
  float sum = 0;
  if (token < o.tokens) {
    const std::int64_t at = token * o.output_row + head * kWidth;
    for (int c = static_cast<int>(lane); c < kWidth; c += 32) {
      sum += load(o.output[at + c]) * load(o.output_gradient[at + c]);
    }
  }
  sum = over_warp(sum, Sum());
  if (lane == 0 && token < o.tokens) o.shift[head * o.tokens + token] = sum;
}

// The slope of a score before its scale, from its probability.
ROFORMER_INLINE float slope(float probability, float gradient, float shift) {
  return probability * (gradient - shift);
}

// One block a tile of queries (x) and a head (y): their gradients, and sums of the slopes by
// difference where those are wanted.
template <int kWidth>
__global__ void attention_query_gradient(AttentionWork o) {
  constexpr int kKeys = kStreamed<kWidth>;
  const AttentionTile tile = o.tiles[blockIdx.x];
  const AttentionText text = o.texts[tile.text];
  const std::int64_t head = blockIdx.y, key_head = head / o.sharing;
  const Pairs pairs(o, text, head);
  const Place place;
  SharedParts memory;
  Bfloat16* const queries = memory.rows<kWidth>(kTileRows);
  Bfloat16* const gradients = memory.rows<kWidth>(kTileRows);
  Stage<kWidth> stage(memory), next(memory);
  constexpr int kSlopeRow = kKeys + 1;  // neighbours of a diagonal lie in different banks
  float* const all_slopes = memory.numbers(kTileRows * kSlopeRow);
  const std::int64_t token = text.query_begin + tile.first;
  const std::int64_t there = text.query_length - tile.first;
  const Range range = pairs.keys_of(tile.first, kTileRows);
  const auto begin_keys = [&](const Stage<kWidth>& to, std::int64_t first) {
    const std::int64_t row = text.key_begin + first;
    begin_rows<kWidth, kKeys>(to.first, o.key + row * o.key_row + key_head * kWidth, o.key_row,
                              range.end - first);
    begin_rows<kWidth, kKeys>(to.second, o.value + row * o.value_row + key_head * kWidth,
                              o.value_row, range.end - first);
    pairs.begin_table<Stage<kWidth>::kTable>(to.table, first - tile.first - (kTileRows - 1));
  };
  begin_rows<kWidth, kTileRows>(queries, o.query + token * o.query_row + head * kWidth, o.query_row,
                                there);
  begin_rows<kWidth, kTileRows>(gradients, o.output_gradient + token * o.output_row + head * kWidth,
                                o.output_row, there);
  if (range.begin < range.end) begin_keys(stage, range.begin);
  float logarithm[2] = {}, shift[2] = {};
  for (int half = 0; half < 2; ++half) {
    const int row = place.own(2 * half);
    if (row >= there) continue;
    logarithm[half] = o.logarithm[head * o.tokens + token + row] * kUnitsOfScore;
    shift[half] = o.shift[head * o.tokens + token + row];
  }
  const bool by_difference = o.differences != nullptr && pairs.by_difference();
  const std::int64_t differences = text.key_length + kTileRows - 1;  // of the tile

  RowSums<kWidth> sums;
  for (std::int64_t first = range.begin; first < range.end; first += kKeys, exchange(stage, next)) {
    wait_for_copies();
    __syncthreads();
    if (first + kKeys < range.end) begin_keys(next, first + kKeys);
    RowSums<kKeys> scores, slopes;
    const int own_rows = place.warp * 16 * kStride<kWidth>;
    add_products_of_rows<kWidth, kKeys>(queries + own_rows, stage.first, scores);
    add_products_of_rows<kWidth, kKeys>(gradients + own_rows, stage.second, slopes);
    const auto tile_pairs =
        pairs.tile<false>(tile.first, first, range.end, stage.table + kTileRows - 1);
    for_sums<kKeys>([&](int n, int e) {
      const int own = place.own(e), streamed = place.streamed(n, e);
      const float score = tile_pairs.score(scores.groups[n][e], own, streamed);
      float& made = slopes.groups[n][e];
      made = slope(std::exp2(score - logarithm[e / 2]), made, shift[e / 2]);
      if (by_difference) all_slopes[own * kSlopeRow + streamed] = made;
      made *= o.scale;
    });
    add_weighted_rows<kWidth, kKeys>(slopes, stage.first, sums);
    if (!by_difference) continue;
    __syncthreads();  // the slopes of all warps are there; the next barrier ends their use
    const int x = static_cast<int>(threadIdx.x);  // a diagonal: j - i is x - (kTileRows - 1)
    if (x < kTileRows + kKeys - 1) {
      const int begin = static_cast<int>(most(0, kTileRows - 1 - x));
      const int end = static_cast<int>(least(kTileRows, kTileRows + kKeys - 1 - x));
      float sum = 0;
      for (int row = begin; row < end; ++row) {
        sum += all_slopes[row * kSlopeRow + row + x - (kTileRows - 1)];
      }
      if (first + x < differences) {
        o.differences[tile.differences + head * differences + first + x] += sum;
      }
    }
  }
  wait_for_copies();
  const std::int64_t own = token + place.warp * 16;
  const float factors[2] = {1, 1};
  store_rows<kWidth>(sums, factors, o.query_gradient + own * o.query_gradient_row + head * kWidth,
                     o.query_gradient_row, there - place.warp * 16);
}

// One block a tile of keys (x) and a head of queries (y): their gradients and those of the values.
template <int kWidth>
__global__ void attention_key_gradient(AttentionWork o) {
  constexpr int kQueries = kStreamed<kWidth>;
  const AttentionTile tile = o.tiles[blockIdx.x];
  const AttentionText text = o.texts[tile.text];
  const std::int64_t head = blockIdx.y, key_head = head / o.sharing;
  const Pairs pairs(o, text, head);
  const Place place;
  SharedParts memory;
  Bfloat16* const keys = memory.rows<kWidth>(kTileRows);
  Bfloat16* const values = memory.rows<kWidth>(kTileRows);
  Stage<kWidth> stage(memory), next(memory);
  const std::int64_t token = text.key_begin + tile.first;
  const std::int64_t there = text.key_length - tile.first;
  const Range range = pairs.queries_of(tile.first, kTileRows);
  const auto begin_queries = [&](const Stage<kWidth>& to, std::int64_t first) {
    const std::int64_t row = text.query_begin + first;
    begin_rows<kWidth, kQueries>(to.first, o.query + row * o.query_row + head * kWidth, o.query_row,
                                 range.end - first);
    begin_rows<kWidth, kQueries>(to.second, o.output_gradient + row * o.output_row + head * kWidth,
                                 o.output_row, range.end - first);
    pairs.begin_table<Stage<kWidth>::kTable>(to.table, tile.first - first - (kQueries - 1));
    const int x = static_cast<int>(threadIdx.x);
    if (x < kQueries && first + x < range.end) {
      begin_copy<4>(to.logarithm + x, o.logarithm + head * o.tokens + row + x);
      begin_copy<4>(to.shift + x, o.shift + head * o.tokens + row + x);
    }
  };
  begin_rows<kWidth, kTileRows>(keys, o.key + token * o.key_row + key_head * kWidth, o.key_row,
                                there);
  begin_rows<kWidth, kTileRows>(values, o.value + token * o.value_row + key_head * kWidth,
                                o.value_row, there);
  if (range.begin < range.end) begin_queries(stage, range.begin);

  RowSums<kWidth> key_sums, value_sums;
  for (std::int64_t first = range.begin; first < range.end;
       first += kQueries, exchange(stage, next)) {
    wait_for_copies();
    __syncthreads();
    if (first + kQueries < range.end) begin_queries(next, first + kQueries);
    RowSums<kQueries> scores, slopes;
    const int own_rows = place.warp * 16 * kStride<kWidth>;
    add_products_of_rows<kWidth, kQueries>(keys + own_rows, stage.first, scores);
    add_products_of_rows<kWidth, kQueries>(values + own_rows, stage.second, slopes);
    const auto tile_pairs =
        pairs.tile<true>(first, tile.first, range.end, stage.table + kQueries - 1);
    for_sums<kQueries>([&](int n, int e) {
      const int own = place.own(e), streamed = place.streamed(n, e);
      float& probability = scores.groups[n][e];
      float& made = slopes.groups[n][e];
      if (first + streamed >= range.end) {
        probability = made = 0;
        return;
      }
      const float score = tile_pairs.score(probability, own, streamed);
      probability = std::exp2(score - stage.logarithm[streamed] * kUnitsOfScore);
      made = slope(probability, made, stage.shift[streamed]) * o.scale;
    });
    add_weighted_rows<kWidth, kQueries>(scores, stage.second, value_sums);
    add_weighted_rows<kWidth, kQueries>(slopes, stage.first, key_sums);
  }
  wait_for_copies();
  const std::int64_t own = token + place.warp * 16, left = there - place.warp * 16;
  const float factors[2] = {1, 1};
  store_rows<kWidth>(key_sums, factors, o.key_gradient + own * o.key_gradient_row + head * kWidth,
                     o.key_gradient_row, left);
  store_rows<kWidth>(value_sums, factors,
                     o.value_gradient + own * o.value_gradient_row + head * kWidth,
                     o.value_gradient_row, left);
}

// One block a tile of pairs (x) and a head (y): the gradient of what is added to each pair, over
// all texts that share it.
template <int kWidth>
__global__ void attention_pair_gradient(AttentionWork o) {
  constexpr int kKeys = kStreamed<kWidth>;
  const AttentionPairTile tile = o.pairs[blockIdx.x];
  const std::int64_t head = blockIdx.y, key_head = head / o.sharing;
  const Place place;
  SharedParts memory;
  Bfloat16* const queries = memory.rows<kWidth>(kTileRows);
  Bfloat16* const gradients = memory.rows<kWidth>(kTileRows);
  Bfloat16* const keys = memory.rows<kWidth>(kKeys);
  Bfloat16* const values = memory.rows<kWidth>(kKeys);
  RowSums<kKeys> sums;
  for (std::int64_t t = tile.text; t < tile.text + tile.texts; ++t) {
    const AttentionText text = o.texts[t];
    const Pairs pairs(o, text, head);
    const std::int64_t token = text.query_begin + tile.query, row = text.key_begin + tile.key;
    const std::int64_t there = text.query_length - tile.query, left = text.key_length - tile.key;
    __syncthreads();  // the rows of the text before have been read
    begin_rows<kWidth, kTileRows>(queries, o.query + token * o.query_row + head * kWidth,
                                  o.query_row, there);
    begin_rows<kWidth, kTileRows>(
        gradients, o.output_gradient + token * o.output_row + head * kWidth, o.output_row, there);
    begin_rows<kWidth, kKeys>(keys, o.key + row * o.key_row + key_head * kWidth, o.key_row, left);
    begin_rows<kWidth, kKeys>(values, o.value + row * o.value_row + key_head * kWidth, o.value_row,
                              left);
    wait_for_copies();
    __syncthreads();
    RowSums<kKeys> scores, slopes;
    const int own_rows = place.warp * 16 * kStride<kWidth>;
    add_products_of_rows<kWidth, kKeys>(queries + own_rows, keys, scores);
    add_products_of_rows<kWidth, kKeys>(gradients + own_rows, values, slopes);
    const auto tile_pairs = pairs.tile<false>(tile.query, tile.key, text.key_length, nullptr);
    float logarithm[2] = {}, shift[2] = {};
    for (int half = 0; half < 2; ++half) {
      const int own = place.own(2 * half);
      if (own >= there) continue;
      logarithm[half] = o.logarithm[head * o.tokens + token + own] * kUnitsOfScore;
      shift[half] = o.shift[head * o.tokens + token + own];
    }
    for_sums<kKeys>([&](int n, int e) {
      const float score = tile_pairs.score(scores.groups[n][e], place.own(e), place.streamed(n, e));
      sums.groups[n][e] +=
          slope(std::exp2(score - logarithm[e / 2]), slopes.groups[n][e], shift[e / 2]);
    });
  }
  const AttentionText text = o.texts[tile.text];
  float* const to = text.gradient + head * text.query_length * text.key_length;
  for_sums<kKeys>([&](int n, int e) {
    const std::int64_t i = tile.query + place.own(e), j = tile.key + place.streamed(n, e);
    if (i < text.query_length && j < text.key_length) {
      to[i * text.key_length + j] += sums.groups[n][e];
    }
  });
}

// A block a head (x) and a table (y): the first and the last j - i that are not hidden; Lk and -Lq
// where all are.
__global__ void attention_windows(const AttentionTable* tables) {
  __shared__ float scratch[32];
  const AttentionTable table = tables[blockIdx.y];
  const std::int64_t count = table.query_length + table.key_length - 1;
  const float* const numbers = table.numbers + blockIdx.x * table.head;
  // Places are whole numbers below 2^24, which a float holds.
  float from_begin = static_cast<float>(-count), from_end = -1;
  for (std::int64_t x = threadIdx.x; x < count; x += blockDim.x) {
    if (numbers[x] == minus_infinity()) continue;
    from_begin = Largest()(from_begin, static_cast<float>(-x));
    from_end = Largest()(from_end, static_cast<float>(x));
  }
  from_begin = over_block(from_begin, Largest(), static_cast<float>(-count), scratch);
  from_end = over_block(from_end, Largest(), -1.0f, scratch);
  if (threadIdx.x != 0) return;
  const std::int64_t zero = table.query_length - 1;
  table.windows[2 * blockIdx.x] =
      static_cast<std::int32_t>(-from_begin) - static_cast<std::int32_t>(zero);
  table.windows[2 * blockIdx.x + 1] =
      static_cast<std::int32_t>(from_end) - static_cast<std::int32_t>(zero);
}

// A thread a difference (over x) of a head (y) of one table: what its tiles have summed.
__global__ void attention_difference_sums(AttentionTable table, const AttentionTile* tiles,
                                          const float* sums) {
  const std::int64_t count = table.query_length + table.key_length - 1;
  const std::int64_t entry = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (entry >= count) return;
  const std::int64_t head = blockIdx.y, of_tile = table.key_length + kTileRows - 1;
  float total = 0;
  for (std::int64_t t = table.tile; t < table.tile + table.tiles; ++t) {
    // The tile's sum x is of j - i = x - first - (kTileRows - 1).
    const std::int64_t x = entry - (table.query_length - 1) + tiles[t].first + kTileRows - 1;
    if (x >= 0 && x < of_tile) total += sums[tiles[t].differences + head * of_tile + x];
  }
  table.gradient[head * count + entry] += total;
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
