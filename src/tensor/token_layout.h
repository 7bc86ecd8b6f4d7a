// Where sequences lie in a flat batch of tokens [T, ...]: end to end, without padding. Neighbours
// of equal length form a block [sequences, length], which operations take in one call.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace roformer {

struct TokenBlock {
  std::int64_t begin = 0;  // first token
  std::int64_t sequences = 0;
  std::int64_t length = 0;
};

struct TokenLayout {
  std::vector<TokenBlock> blocks;
  std::int64_t tokens = 0;
  std::int64_t longest = 0;

  static TokenLayout uniform(std::int64_t sequences, std::int64_t length) {
    return {.blocks = {{.begin = 0, .sequences = sequences, .length = length}},
            .tokens = sequences * length,
            .longest = length};
  }
  static TokenLayout of_lengths(std::span<const std::int64_t> lengths) {
    TokenLayout layout;
    for (const std::int64_t length : lengths) {
      if (!layout.blocks.empty() && layout.blocks.back().length == length) {
        ++layout.blocks.back().sequences;
      } else {
        layout.blocks.push_back({.begin = layout.tokens, .sequences = 1, .length = length});
      }
      layout.tokens += length;
      layout.longest = layout.longest > length ? layout.longest : length;
    }
    return layout;
  }
};

// Some queries of some texts at a time, so that what is made for pairs of query and key is never
// held for all of them.

struct TextBlock {
  std::int64_t text = 0, texts = 0;
  std::int64_t row = 0, rows = 0;  // queries

  // x [B, H, Lq, ..]: [texts, H, rows, ..].
  at::Tensor rows_of(const at::Tensor& x) const {
    return x.narrow(0, text, texts).narrow(2, row, rows);
  }
  // x [B, ..]: [texts, ..].
  at::Tensor texts_of(const at::Tensor& x) const { return x.narrow(0, text, texts); }
  // x [B, H, L, ..]: [texts, H, row + rows, ..], what the last of the queries sees under causality.
  at::Tensor seen_of(const at::Tensor& x) const { return texts_of(x).narrow(2, 0, row + rows); }
};

// All queries [texts, queries] in blocks of at most `rows` queries of a text, and of as many texts
// as hold at most `most` numbers where a query has `numbers`, but of one at least.
std::vector<TextBlock> text_blocks(std::int64_t texts, std::int64_t queries, std::int64_t rows,
                                   std::int64_t numbers, std::int64_t most);

// Pads sequences of different lengths into one block for operations that need equal lengths.

// T tokens of sequences end to end, [T, C], as one block [sequences, length, C].
struct PaddedBlock {
  std::vector<TokenBlock> parts;  // of equally long sequences
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
  std::int64_t length = 0;  // of the longest

  bool ragged() const { return parts.size() > 1; }
  static PaddedBlock of_lengths(std::span<const std::int64_t> lengths);
};

// flat [T, C] -> [sequences, length, C], shorter sequences padded with zeros; a view if all have
// the same length.
at::Tensor padded(const at::Tensor& flat, const PaddedBlock& block);
// values [sequences, length, C] -> [T, C], without the padding.
at::Tensor unpadded(const at::Tensor& values, const PaddedBlock& block);
// [sequences, 1, 1, length] bool, true = a token; undefined if there is no padding.
at::Tensor padding_mask(const PaddedBlock& block);

// The length of each sequence.
std::vector<std::int64_t> sequence_lengths(std::span<const TokenBlock> blocks);

}  // namespace roformer
