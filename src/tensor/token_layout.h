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
  // Where this is a part of a larger batch: the tokens and sequences before it, and the longest
  // sequence of all parts (0: this is the whole). A pass draws its random numbers by them, so that
  // the parts of a batch draw those of the whole.
  std::int64_t first_token = 0;
  std::int64_t first_sequence = 0;
  std::int64_t longest_of_all = 0;

  // The sequences first ... last - 1 of this layout as a part of it.
  TokenLayout part(std::int64_t first, std::int64_t last) const;

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

// Some queries of some texts, so that numbers for pairs of query and key are never stored for all.
struct TextBlock {
  std::int64_t text = 0, texts = 0;
  std::int64_t row = 0, rows = 0;  // queries

  // x [B, H, Lq, ..]: [texts, H, rows, ..].
  at::Tensor rows_of(const at::Tensor& x) const {
    return x.narrow(0, text, texts).narrow(2, row, rows);
  }
  // x [B, ..]: [texts, ..].
  at::Tensor texts_of(const at::Tensor& x) const { return x.narrow(0, text, texts); }
  // x [B, H, L, ..]: [texts, H, row + rows, ..], the keys that the last query sees under causality.
  at::Tensor seen_of(const at::Tensor& x) const { return texts_of(x).narrow(2, 0, row + rows); }
};

// Splits [texts, queries] into blocks of at most `rows` queries of a text and of as many texts (at
// least one) as hold at most `most` numbers, if a query has `numbers`.
std::vector<TextBlock> text_blocks(std::int64_t texts, std::int64_t queries, std::int64_t rows,
                                   std::int64_t numbers, std::int64_t most);

// Sequences of different lengths, T tokens [T, C] end to end, as one padded block
// [sequences, length, C], for operations that need equal lengths.
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
