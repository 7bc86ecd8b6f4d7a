#include "tensor/text_blocks.h"

#include <algorithm>

#include "base/error.h"

namespace roformer {

std::vector<TextBlock> text_blocks(std::int64_t texts, std::int64_t queries, std::int64_t rows,
                                   std::int64_t numbers, std::int64_t most) {
  ROFORMER_ASSERT(rows > 0);
  const std::int64_t held = std::max<std::int64_t>(1, std::min(rows, queries) * numbers);
  const std::int64_t together = std::max<std::int64_t>(1, most / held);
  std::vector<TextBlock> blocks;
  for (std::int64_t text = 0; text < texts; text += together) {
    for (std::int64_t row = 0; row < queries; row += rows) {
      blocks.push_back({.text = text,
                        .texts = std::min(together, texts - text),
                        .row = row,
                        .rows = std::min(rows, queries - row)});
    }
  }
  return blocks;
}

}  // namespace roformer
