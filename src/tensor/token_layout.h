// Where sequences lie in a flat batch of tokens [T, ...]: end to end, without padding. Neighbours
// of equal length form a block [sequences, length], which operations take in one call.
#pragma once

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

}  // namespace roformer
