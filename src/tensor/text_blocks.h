// Some queries of some texts at a time, so that what is made for pairs of query and key is never
// held for all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roformer {

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

}  // namespace roformer
