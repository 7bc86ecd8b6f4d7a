// Softmax attention by tiles (tensor/gpu/tiled_attention.h). A block has 64 rows of one head, 16 in
// each of its four warps. Usually the rows are queries, and keys and values stream past. For the
// gradients of keys and values, the rows are keys and values, and queries stream past. While the
// block computes with some streamed rows, the next ones are loaded. Scores are in units of log 2
// inside. No sum depends on the order in which blocks run.
#include "tensor/gpu/sources/attention_tiles.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// One block for each tile of queries (x) and head (y).
template <int kWidth, int kAdded>
__global__ void __launch_bounds__(kTileThreads, 3) attention_forward(AttentionWork o) {
  constexpr int kKeys = kStreamed<kWidth>;
  const AttentionTile tile = o.tiles[gridDim.x - 1 - blockIdx.x];  // causal: the longest first
  const AttentionText text = o.texts[tile.text];
  const std::int64_t head = blockIdx.y;
  const Pairs<kAdded> pairs(o, text, head);
  const Place place;
  SharedParts memory;
  Bfloat16* const queries = memory.rows<kWidth>(kTileRows);
  Stage<kWidth> stage(memory), next(memory);
  const std::int64_t token = text.query_begin + tile.first;
  const std::int64_t there = text.query_length - tile.first;
  const Range range = pairs.keys_of(tile.first, kTileRows);
  begin_rows<kWidth, kTileRows, kTileThreads>(
      queries, o.query + token * o.query_row + head * kWidth, o.query_row, there);
  if (range.begin < range.end) {
    begin_keys<kWidth>(o, pairs, tile.first, range.begin, range.end, stage);
  }

  RowSums<kWidth> sums;
  float largest[2] = {minus_infinity(), minus_infinity()}, total[2] = {0, 0};
  for (std::int64_t first = range.begin; first < range.end; first += kKeys, exchange(stage, next)) {
    const auto tile_pairs =
        pairs.template tile<false>(tile.first, first, range.end, stage.table() + kTileRows - 1);
    RowSums<kKeys> scores;
    tile_pairs.begin(place, scores);
    wait_for_copies();
    __syncthreads();  // everyone's copies are here, and the other stage has been read
    if (first + kKeys < range.end) {
      begin_keys<kWidth>(o, pairs, tile.first, first + kKeys, range.end, next);
    }
    add_products_of_rows<kWidth, kKeys>(queries + place.warp * 16 * kStride<kWidth>, stage.first,
                                        scores);
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
      const float factor = power_of_2(largest[half] - zero[half]);
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
      score = power_of_2(score - zero[e / 2]);
      total[e / 2] += score;
    });
    add_weighted_rows<kWidth, kKeys>(scores, stage.second(), sums);
  }
  wait_for_copies();  // of queries that see nothing

  float factors[2];
  for (int half = 0; half < 2; ++half) {
    total[half] = over_row(total[half], Sum());
    const bool sees_nothing = total[half] == 0;
    factors[half] = sees_nothing ? 0.0f : 1.0f / total[half];
    const int row = place.own(2 * half);
    if (place.column == 0 && row < there) {
      o.logarithm[head * o.tokens + token + row] =
          sees_nothing ? -minus_infinity() : largest[half] * kLogarithmOf2 + std::log(total[half]);
    }
  }
  const std::int64_t own = token + place.warp * 16;
  store_rows<kWidth>(sums, factors, o.output + own * o.output_row + head * kWidth, o.output_row,
                     there - place.warp * 16);
}

// The slope of a score before its scale, from its probability.
ROFORMER_INLINE float slope(float probability, float gradient, float shift) {
  return probability * (gradient - shift);
}

// The logarithms, in units of log 2, and shifts of a thread's two rows of queries; 0 after the
// end of the text.
struct RowStatistics {
  float logarithm[2] = {}, shift[2] = {};

  // `shifts`: whether a kernel has made them.
  ROFORMER_INLINE RowStatistics(const AttentionWork& o, const Place& place, std::int64_t head,
                                std::int64_t token, std::int64_t there, bool shifts) {
    for (int half = 0; half < 2; ++half) {
      const int row = place.own(2 * half);
      if (row >= there) continue;
      logarithm[half] = o.logarithm[head * o.tokens + token + row] * kUnitsOfScore;
      if (shifts) shift[half] = o.shift[head * o.tokens + token + row];
    }
  }
};

// One block for each tile of queries (x) and head (y): their gradients, their shifts, and sums of
// the slopes by difference if those are requested. The shift of a query, sum_j p_j dP_j, equals
// output * output gradient. But a bfloat16 output cannot tell 1 - p from zero where one key has
// nearly all the weight, and the slope consists of that difference. So the keys stream past twice.
template <int kWidth, int kAdded>
__global__ void __launch_bounds__(kTileThreads, kWidth > 64 ? 2 : 3)
    attention_query_gradient(AttentionWork o) {
  constexpr int kKeys = kStreamed<kWidth>;
  const AttentionTile tile = o.tiles[gridDim.x - 1 - blockIdx.x];
  const AttentionText text = o.texts[tile.text];
  const std::int64_t head = blockIdx.y;
  const Pairs<kAdded> pairs(o, text, head);
  const Place place;
  SharedParts memory;
  Bfloat16* const queries = memory.rows<kWidth>(kTileRows);
  Bfloat16* const gradients = memory.rows<kWidth>(kTileRows);
  Stage<kWidth> stage(memory), next(memory);
  constexpr int kSlopeRow = kKeys + kSlopePadding;
  float* const all_slopes = memory.numbers(kAdded == kAddsTable ? kTileRows * kSlopeRow : 0);
  const std::int64_t token = text.query_begin + tile.first;
  const std::int64_t there = text.query_length - tile.first;
  const Range range = pairs.keys_of(tile.first, kTileRows);
  begin_rows<kWidth, kTileRows, kTileThreads>(
      queries, o.query + token * o.query_row + head * kWidth, o.query_row, there);
  begin_rows<kWidth, kTileRows, kTileThreads>(
      gradients, o.output_gradient + token * o.output_gradient_row + head * kWidth,
      o.output_gradient_row, there);
  RowStatistics statistics(o, place, head, token, there, /*shifts=*/false);

  // Calls each(first key, probabilities, their gradients). The stage that the first copy of a sweep
  // fills was last read before the barrier of the sweep before.
  const auto sweep = [&](const auto& each) {
    if (range.begin >= range.end) return;
    begin_keys<kWidth>(o, pairs, tile.first, range.begin, range.end, stage);
    for (std::int64_t first = range.begin; first < range.end;
         first += kKeys, exchange(stage, next)) {
      const auto tile_pairs =
          pairs.template tile<false>(tile.first, first, range.end, stage.table() + kTileRows - 1);
      RowSums<kKeys> probabilities, slopes;
      tile_pairs.begin(place, probabilities);
      wait_for_copies();
      __syncthreads();
      if (first + kKeys < range.end) {
        begin_keys<kWidth>(o, pairs, tile.first, first + kKeys, range.end, next);
      }
      const int own_rows = place.warp * 16 * kStride<kWidth>;
      add_products_of_rows<kWidth, kKeys>(queries + own_rows, stage.first, probabilities);
      add_products_of_rows<kWidth, kKeys>(gradients + own_rows, stage.second(), slopes);
      for_sums<kKeys>([&](int n, int e) {
        float& made = probabilities.groups[n][e];
        const float score = tile_pairs.score(made, place.own(e), place.streamed(n, e));
        made = power_of_2(score - statistics.logarithm[e / 2]);
      });
      each(first, probabilities, slopes);
    }
  };

  float shift[2] = {0, 0};
  sweep([&](std::int64_t, const RowSums<kKeys>& probabilities, const RowSums<kKeys>& slopes) {
    for_sums<kKeys>([&](int n, int e) {
      shift[e / 2] += probabilities.groups[n][e] * slopes.groups[n][e];
    });
  });
  for (int half = 0; half < 2; ++half) {
    statistics.shift[half] = over_row(shift[half], Sum());
    const int row = place.own(2 * half);
    if (place.column == 0 && row < there) {
      o.shift[head * o.tokens + token + row] = statistics.shift[half];
    }
  }

  const bool summed = kAdded == kAddsTable && tile.differences >= 0;
  const std::int64_t differences = text.key_length + kTileRows - 1;  // of the tile
  const int diagonal = static_cast<int>(threadIdx.x);  // j - i is that - (kTileRows - 1)
  RowSums<kWidth> sums;
  sweep([&](std::int64_t first, const RowSums<kKeys>& probabilities, RowSums<kKeys>& slopes) {
    for_sums<kKeys>([&](int n, int e) {
      float& made = slopes.groups[n][e];
      made = slope(probabilities.groups[n][e], made, statistics.shift[e / 2]);
    });
    add_weighted_rows<kWidth, kKeys>(slopes, stage.first, sums);
    if (!summed) return;
    for_sums<kKeys>([&](int n, int e) {
      all_slopes[place.own(e) * kSlopeRow + place.streamed(n, e)] = slopes.groups[n][e];
    });
    __syncthreads();  // the slopes of all warps are there; the next barrier ends their use
    if (diagonal < kTileRows + kKeys - 1 && first + diagonal < differences) {
      float* const to = o.differences + tile.differences + head * differences + first + diagonal;
      const float before = *to;
      const int begin = static_cast<int>(most(0, kTileRows - 1 - diagonal));
      const int end = static_cast<int>(least(kTileRows, kTileRows + kKeys - 1 - diagonal));
      float sum = 0;
      for (int row = begin; row < end; ++row) {
        sum += all_slopes[row * kSlopeRow + row + diagonal - (kTileRows - 1)];
      }
      *to = before + sum;
    }
  });
  wait_for_copies();
  const std::int64_t own = token + place.warp * 16;
  const float factors[2] = {o.scale, o.scale};
  store_rows<kWidth>(sums, factors, o.query_gradient + own * o.query_gradient_row + head * kWidth,
                     o.query_gradient_row, there - place.warp * 16);
}

// One block for each tile of keys (x) and head of queries (y): their gradients and those of the
// values.
template <int kWidth, int kAdded>
__global__ void __launch_bounds__(kTileThreads, 2) attention_key_gradient(AttentionWork o) {
  constexpr int kQueries = kStreamed<kWidth>;
  const AttentionTile tile = o.tiles[blockIdx.x];
  const AttentionText text = o.texts[tile.text];
  const std::int64_t head = blockIdx.y, key_head = head / o.sharing;
  const Pairs<kAdded> pairs(o, text, head);
  const Place place;
  SharedParts memory;
  Bfloat16* const keys = memory.rows<kWidth>(kTileRows);
  Bfloat16* const values = memory.rows<kWidth>(kTileRows);
  Stage<kWidth> stage(memory), next(memory);
  const std::int64_t token = text.key_begin + tile.first;
  const std::int64_t there = text.key_length - tile.first;
  const Range range = pairs.queries_of(tile.first, kTileRows);
  const auto begin_queries = [&](const Stage<kWidth>& to, std::int64_t first) {
    const std::int64_t row = text.query_begin + first, left = range.end - first;
    begin_rows<kWidth, kQueries, kTileThreads>(
        to.first, o.query + row * o.query_row + head * kWidth, o.query_row, left);
    begin_rows<kWidth, kQueries, kTileThreads>(
        to.second(), o.output_gradient + row * o.output_gradient_row + head * kWidth,
        o.output_gradient_row, left);
    pairs.template begin_table<Stage<kWidth>::kTable>(to.table(),
                                                      tile.first - first - (kQueries - 1));
    const int x = static_cast<int>(threadIdx.x);
    if (x >= kQueries) return;
    const std::int64_t at = head * o.tokens + row + (x < left ? x : 0);
    begin_copy<4>(to.logarithm() + x, o.logarithm + at, x < left);
    begin_copy<4>(to.shift() + x, o.shift + at, x < left);
  };
  begin_rows<kWidth, kTileRows, kTileThreads>(keys, o.key + token * o.key_row + key_head * kWidth,
                                              o.key_row, there);
  begin_rows<kWidth, kTileRows, kTileThreads>(
      values, o.value + token * o.value_row + key_head * kWidth, o.value_row, there);
  if (range.begin < range.end) begin_queries(stage, range.begin);

  RowSums<kWidth> key_sums, value_sums;
  for (std::int64_t first = range.begin; first < range.end;
       first += kQueries, exchange(stage, next)) {
    const auto tile_pairs =
        pairs.template tile<true>(first, tile.first, range.end, stage.table() + kQueries - 1);
    RowSums<kQueries> scores, slopes;
    tile_pairs.begin(place, scores);
    wait_for_copies();
    __syncthreads();
    if (first + kQueries < range.end) begin_queries(next, first + kQueries);
    const int own_rows = place.warp * 16 * kStride<kWidth>;
    add_products_of_rows<kWidth, kQueries>(keys + own_rows, stage.first, scores);
    add_products_of_rows<kWidth, kQueries>(values + own_rows, stage.second(), slopes);
    for_sums<kQueries>([&](int n, int e) {
      const int streamed = place.streamed(n, e);
      float& probability = scores.groups[n][e];
      const float score = tile_pairs.score(probability, place.own(e), streamed);
      probability = power_of_2(score - stage.logarithm()[streamed] * kUnitsOfScore);
      float& made = slopes.groups[n][e];
      made = slope(probability, made, stage.shift()[streamed]);
    });
    add_weighted_rows<kWidth, kQueries>(scores, stage.second(), value_sums);
    add_weighted_rows<kWidth, kQueries>(slopes, stage.first, key_sums);
  }
  wait_for_copies();
  const std::int64_t own = token + place.warp * 16, left = there - place.warp * 16;
  const float scales[2] = {o.scale, o.scale}, ones[2] = {1, 1};
  store_rows<kWidth>(key_sums, scales, o.key_gradient + own * o.key_gradient_row + head * kWidth,
                     o.key_gradient_row, left);
  store_rows<kWidth>(value_sums, ones,
                     o.value_gradient + own * o.value_gradient_row + head * kWidth,
                     o.value_gradient_row, left);
}

// A text's rows that meet in a tile of pairs.
template <int kWidth>
struct PairStage {
  static constexpr int kKeys = gpu::pair_keys(kWidth);
  Bfloat16* queries;

  ROFORMER_INLINE explicit PairStage(SharedParts& memory)
      : queries(memory.rows<kWidth>(2 * kTileRows + 2 * kKeys)) {}
  ROFORMER_INLINE Bfloat16* gradients() const { return queries + kTileRows * kStride<kWidth>; }
  ROFORMER_INLINE Bfloat16* keys() const { return gradients() + kTileRows * kStride<kWidth>; }
  ROFORMER_INLINE Bfloat16* values() const { return keys() + kKeys * kStride<kWidth>; }
};

// One block for each tile of pairs (x) and head (y): the gradient of the term added to each pair,
// over all texts that share it.
template <int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2) attention_pair_gradient(AttentionWork o) {
  constexpr int kKeys = gpu::pair_keys(kWidth);
  const AttentionPairTile tile = o.pairs[blockIdx.x];
  const std::int64_t head = blockIdx.y, key_head = head / o.sharing;
  const Place place;
  SharedParts memory;
  PairStage<kWidth> stage(memory), next(memory);
  const auto begin_text = [&](const PairStage<kWidth>& to, std::int64_t number) {
    const AttentionText text = o.texts[number];
    const std::int64_t token = text.query_begin + tile.query, row = text.key_begin + tile.key;
    const std::int64_t there = text.query_length - tile.query, left = text.key_length - tile.key;
    begin_rows<kWidth, kTileRows, kTileThreads>(
        to.queries, o.query + token * o.query_row + head * kWidth, o.query_row, there);
    begin_rows<kWidth, kTileRows, kTileThreads>(
        to.gradients(), o.output_gradient + token * o.output_gradient_row + head * kWidth,
        o.output_gradient_row, there);
    begin_rows<kWidth, kKeys, kTileThreads>(to.keys(), o.key + row * o.key_row + key_head * kWidth,
                                            o.key_row, left);
    begin_rows<kWidth, kKeys, kTileThreads>(
        to.values(), o.value + row * o.value_row + key_head * kWidth, o.value_row, left);
  };
  begin_text(stage, tile.text);

  RowSums<kKeys> sums;
  const std::int64_t end = tile.text + tile.texts;
  for (std::int64_t number = tile.text; number < end; ++number, exchange(stage, next)) {
    const AttentionText text = o.texts[number];
    const Pairs<kAddsPairs> pairs(o, text, head);
    const auto tile_pairs =
        pairs.template tile<false>(tile.query, tile.key, text.key_length, nullptr);
    const RowStatistics statistics(o, place, head, text.query_begin + tile.query,
                                   text.query_length - tile.query, /*shifts=*/true);
    RowSums<kKeys> scores, slopes;
    tile_pairs.begin(place, scores);
    wait_for_copies();
    __syncthreads();
    if (number + 1 < end) begin_text(next, number + 1);
    const int own_rows = place.warp * 16 * kStride<kWidth>;
    add_products_of_rows<kWidth, kKeys>(stage.queries + own_rows, stage.keys(), scores);
    add_products_of_rows<kWidth, kKeys>(stage.gradients() + own_rows, stage.values(), slopes);
    for_sums<kKeys>([&](int n, int e) {
      const float score = tile_pairs.score(scores.groups[n][e], place.own(e), place.streamed(n, e));
      sums.groups[n][e] += slope(power_of_2(score - statistics.logarithm[e / 2]),
                                 slopes.groups[n][e], statistics.shift[e / 2]);
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

// One block for each head (x) and table (y): the first and the last j - i that are not hidden; Lk
// and -Lq if all are hidden.
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
  const auto zero = static_cast<std::int32_t>(table.query_length - 1);
  std::int32_t* const window = table.windows + 2 * blockIdx.x;
  window[0] = static_cast<std::int32_t>(-from_begin) - zero;
  window[1] = static_cast<std::int32_t>(from_end) - zero;
}

// One thread for each difference (over x) of a head of a table (y): the sum over its tiles.
__global__ void attention_difference_sums(const AttentionTable* tables, std::int64_t heads,
                                          const AttentionTile* tiles, const float* sums) {
  const AttentionTable table = tables[blockIdx.y / static_cast<unsigned>(heads)];
  const std::int64_t count = table.query_length + table.key_length - 1;
  const std::int64_t entry = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (table.gradient == nullptr || entry >= count) return;
  const std::int64_t head = blockIdx.y % static_cast<unsigned>(heads),
                     of_tile = table.key_length + kTileRows - 1;
  float total = 0;
  for (std::int64_t t = table.tile; t < table.tile + table.tiles; ++t) {
    // The tile's sum x is of j - i = x - first - (kTileRows - 1).
    const std::int64_t x = entry - (table.query_length - 1) + tiles[t].first + kTileRows - 1;
    if (x >= 0 && x < of_tile) total += sums[tiles[t].differences + head * of_tile + x];
  }
  table.gradient[head * count + entry] += total;
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
