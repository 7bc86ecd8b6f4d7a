// Rows laid out as operands of tile products and their results laid out as rows: transposes of 16
// by 16 words of 32 bits, which hold a number of float or two neighbours of bfloat16. Rows are
// registers of AVX-512.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/attention_kernels.h"
#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

inline constexpr std::int64_t kWords = 16;
inline constexpr std::int64_t kPair = 2;  // numbers of bfloat16 in a word
typedef std::uint32_t Words __attribute__((vector_size(64)));

// Exchanges what lies outside the diagonal of each square of 2 `distance` lanes in as many rows.
template <int distance, std::size_t... lane>
ROFORMER_INLINE void exchange(Words (&rows)[kWords], std::index_sequence<lane...>) {
  constexpr Words kUpper{(lane & distance ? kWords + lane - distance : lane)...};
  constexpr Words kLower{(lane & distance ? kWords + lane : lane + distance)...};
  for (int i = 0; i < kWords; ++i) {
    if ((i & distance) != 0) continue;
    const Words upper = rows[i], lower = rows[i + distance];
    rows[i] = __builtin_shuffle(upper, lower, kUpper);
    rows[i + distance] = __builtin_shuffle(upper, lower, kLower);
  }
}

ROFORMER_INLINE void transpose_square(Words (&rows)[kWords]) {
  constexpr auto kLanes16 = std::make_index_sequence<kWords>{};
  exchange<8>(rows, kLanes16);
  exchange<4>(rows, kLanes16);
  exchange<2>(rows, kLanes16);
  exchange<1>(rows, kLanes16);
}

// Up to 16 rows of 16 words from rows that lie `row` bytes apart; zeros in place of missing ones.
ROFORMER_INLINE void load_square(const void* from, std::int64_t row, std::int64_t count,
                                 Words (&rows)[kWords]) {
  const auto* const bytes = static_cast<const char*>(from);
  for (std::int64_t i = 0; i < kWords; ++i) {
    rows[i] = Words{};
    if (i < count) std::memcpy(&rows[i], bytes + i * row, sizeof rows[i]);
  }
}

// Calls function(r, w, words) for squares of 16 rows and 16 pairs of neighbours, transposed: of
// word i the pairs w + i of rows r, r + 1, ..
template <typename Function>
ROFORMER_INLINE void for_transposed_squares(const PairedRows& o, const Function& function) {
  Words words[kWords];
  for (std::int64_t r = 0; r < o.padded; r += kWords) {
    for (std::int64_t w = 0; w < o.width / kPair; w += kWords) {
      load_square(o.from + r * o.from_row + kPair * w,
                  o.from_row * static_cast<std::int64_t>(sizeof *o.from), o.rows - r, words);
      transpose_square(words);
      function(r, w, words);
    }
  }
}

inline void copy_rows(const PairedRows& o) {
  for (std::int64_t r = 0; r < o.padded; ++r) {
    const c10::BFloat16* __restrict from = o.from + r * o.from_row;
    std::uint16_t* __restrict to = &o.to[r * o.to_row].x;
    if (r < o.rows) {
      for (std::int64_t c = 0; c < o.width; ++c) to[c] = from[c].x;
    } else {
      for (std::int64_t c = 0; c < o.width; ++c) to[c] = 0;
    }
  }
}

inline void pair_rows(const PairedRows& o) {
  for (std::int64_t r = 0; r < o.padded; r += 2) {
    const c10::BFloat16* __restrict even = o.from + r * o.from_row;
    const c10::BFloat16* __restrict odd = even + o.from_row;
    std::uint16_t* __restrict to = &o.to[r * o.to_row].x;
    if (r + 1 < o.rows) {
      for (std::int64_t c = 0; c < o.width; ++c) {
        to[2 * c] = even[c].x;
        to[2 * c + 1] = odd[c].x;
      }
    } else if (r < o.rows) {
      for (std::int64_t c = 0; c < o.width; ++c) {
        to[2 * c] = even[c].x;
        to[2 * c + 1] = 0;
      }
    } else {
      std::fill_n(to, 2 * o.width, std::uint16_t{0});
    }
  }
}

inline void pair_columns(const PairedRows& o) {
  for_transposed_squares(o, [&](std::int64_t r, std::int64_t w, const Words(&words)[kWords]) {
    for (std::int64_t i = 0; i < kWords; ++i) {
      std::memcpy(o.to + kPair * ((w + i) * o.to_row + r), &words[i], sizeof words[i]);
    }
  });
}

inline void transpose(const PairedRows& o) {
  typedef std::uint16_t Halves __attribute__((vector_size(32)));
  for_transposed_squares(o, [&](std::int64_t r, std::int64_t w, const Words(&words)[kWords]) {
    for (std::int64_t i = 0; i < kWords; ++i) {
      const Halves even = __builtin_convertvector(words[i], Halves);
      const Halves odd = __builtin_convertvector(words[i] >> 16, Halves);
      c10::BFloat16* const to = o.to + kPair * (w + i) * o.to_row + r;
      std::memcpy(to, &even, sizeof even);
      std::memcpy(to + o.to_row, &odd, sizeof odd);
    }
  });
}

inline void transpose_sums(const float* from, std::int64_t from_row, std::int64_t rows,
                           std::int64_t width, float* to) {
  Words words[kWords];
  for (std::int64_t r = 0; r < rows; r += kWords) {
    const std::int64_t count = std::min(kWords, rows - r);
    for (std::int64_t c = 0; c < width; c += kWords) {
      load_square(from + c * from_row + r, from_row * static_cast<std::int64_t>(sizeof *from),
                  kWords, words);
      transpose_square(words);
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + (r + i) * width + c, &words[i], sizeof words[i]);
      }
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
