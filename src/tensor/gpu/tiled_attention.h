// tensor/tiled_attention.h on a GPU, with bfloat16 products on tensor cores (Dao 2023,
// FlashAttention-2, section 3; biases are added inside). Numbers for all pairs are only stored for
// the gradient of a bias that has one for each pair; the gradient of a table needs a float for
// every 64th pair during the layer's backward pass. Also read by the kernels
// (sources/tiled_attention.cu).
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

#ifndef __CUDACC_RTC__
#include <ATen/core/Tensor.h>

#include "tensor/tiled_attention.h"
#endif

namespace roformer::gpu {

// The term added to the scores: a template argument of the kernels.
inline constexpr int kAddsNothing = 0;
inline constexpr int kAddsTable = 1;  // by difference of positions
inline constexpr int kAddsPairs = 2;  // a number for each pair

inline constexpr int kTileRows = 64;  // queries or keys of a block of kTileThreads threads
inline constexpr int kTileThreads = 128;
// Rows of the other side that are processed at once.
constexpr int streamed_rows(std::int64_t width) {
  return width > 64 ? 32 : 64;
}
// Keys of a tile of pairs, which holds queries, keys and both their gradients twice: fewer for the
// widest heads, so that a block fits into every card's shared memory.
constexpr int pair_keys(std::int64_t width) {
  return width > 112 ? 16 : streamed_rows(width);
}
// Padding of each row of slopes in shared memory: with an odd row length a diagonal uses all banks,
// and the rows of a store share few.
inline constexpr int kSlopePadding = 5;

// A sequence of queries and the keys that it sees. Pointers are to the device.
struct AttentionText {
  std::int64_t query_begin = 0, query_length = 0;
  std::int64_t key_begin = 0, key_length = 0;
  // The number for head h, query i and key j is at h * additive_head + i * additive_row + j; in a
  // table at h * additive_head + j - i.
  const float* additive = nullptr;
  std::int64_t additive_head = 0, additive_row = 0;
  const std::int32_t* windows = nullptr;  // of a table: [H, 2], j - i first and last visible
  float* gradient = nullptr;              // of numbers for pairs, [H, Lq, Lk], added to; or null
};

// Rows of a text that one block of threads processes.
struct AttentionTile {
  std::int64_t text = 0;
  std::int64_t first = 0;
  // The offset of its sums by difference, [H, Lk + kTileRows - 1]; -1: not wanted.
  std::int64_t differences = -1;
};

// Some pairs of a bias with a number for each pair, whose gradient a block sums over texts.
struct AttentionPairTile {
  std::int64_t text = 0, texts = 0;  // the first, and how many
  std::int64_t query = 0, key = 0;   // the first of kTileRows queries and pair_keys() keys
};

struct AttentionWork {
  using T = c10::BFloat16;
  const AttentionText* texts = nullptr;
  const AttentionTile* tiles = nullptr;  // of queries, or of keys where gradients of those are made
  const AttentionPairTile* pairs = nullptr;
  const T* query = nullptr;  // first rows of head 0
  const T* key = nullptr;
  const T* value = nullptr;
  std::int64_t query_row = 0, key_row = 0, value_row = 0;  // strides
  T* output = nullptr;
  std::int64_t output_row = 0;
  float* logarithm = nullptr;  // [H, tokens]
  std::int64_t tokens = 0;     // of queries
  std::int64_t sharing = 1;    // heads of queries that share a head of keys and values
  float scale = 1;
  bool causal = false;
  // Backward only.
  const T* output_gradient = nullptr;
  std::int64_t output_gradient_row = 0;
  float* shift = nullptr;  // [H, tokens]: sums of probabilities * their gradients
  T* query_gradient = nullptr;
  T* key_gradient = nullptr;    // of each head of queries
  T* value_gradient = nullptr;  // of each head of queries
  std::int64_t query_gradient_row = 0, key_gradient_row = 0, value_gradient_row = 0;
  float* differences = nullptr;  // sums of tiles by difference
};

// A bias by difference of positions, for the kernels that find its windows and sum its gradient.
struct AttentionTable {
  const float* numbers = nullptr;  // [heads or 1, Lq + Lk - 1]
  std::int64_t head = 0;           // stride, 0 where heads share it
  std::int64_t query_length = 0, key_length = 0;
  std::int32_t* windows = nullptr;   // [H, 2]
  float* gradient = nullptr;         // [H, Lq + Lk - 1], added to; null: not wanted
  std::int64_t tile = 0, tiles = 0;  // its tiles of queries: the first, and how many
};

#ifndef __CUDACC_RTC__
// Whether the kernels support the heads: bfloat16, a width that is a multiple of 16 up to 128, and
// a GPU of compute capability 8.0.
bool can_tile_attention(const at::Tensor& query, std::int64_t head_width);

at::Tensor tiled_attention_forward(const TiledAttention& attention, const at::Tensor& output);
void tiled_attention_backward(const TiledAttention& attention, const at::Tensor& output,
                              const at::Tensor& logarithm, const at::Tensor& output_gradient,
                              const TiledAttentionGradients& gradients);
#endif

}  // namespace roformer::gpu
