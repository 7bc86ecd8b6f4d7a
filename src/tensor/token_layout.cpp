#include "tensor/token_layout.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/gradient.h"

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

namespace {

// Calls visit(rows of the flat batch, the same rows in the block) for each part.
template <typename Visit>
void visit_parts(const at::Tensor& flat, const at::Tensor& values, const PaddedBlock& block,
                 const Visit& visit) {
  std::int64_t sequence = 0;
  for (const TokenBlock& part : block.parts) {
    visit(flat.narrow(0, part.begin, part.sequences * part.length)
              .view({part.sequences, part.length, flat.size(1)}),
          values.narrow(0, sequence, part.sequences).narrow(1, 0, part.length));
    sequence += part.sequences;
  }
}

at::Tensor pad(const at::Tensor& flat, const PaddedBlock& block) {
  at::Tensor values = at::zeros({block.sequences, block.length, flat.size(1)}, flat.options());
  visit_parts(flat, values, block,
              [](const at::Tensor& rows, const at::Tensor& cells) { cells.copy_(rows); });
  return values;
}

at::Tensor unpad(const at::Tensor& values, const PaddedBlock& block) {
  at::Tensor flat = at::empty({block.tokens, values.size(2)}, values.options());
  visit_parts(flat, values, block,
              [](const at::Tensor& rows, const at::Tensor& cells) { rows.copy_(cells); });
  return flat;
}

}  // namespace

PaddedBlock PaddedBlock::of_lengths(std::span<const std::int64_t> lengths) {
  const TokenLayout layout = TokenLayout::of_lengths(lengths);
  return {.parts = layout.blocks,
          .tokens = layout.tokens,
          .sequences = static_cast<std::int64_t>(lengths.size()),
          .length = layout.longest};
}

at::Tensor padded(const at::Tensor& flat, const PaddedBlock& block) {
  ROFORMER_ASSERT(flat.size(0) == block.tokens);
  if (!block.ragged()) return flat.view({block.sequences, block.length, flat.size(1)});
  GradientRecorder recorder("attention/pad", {flat});
  return recorder.finish(
      pad(flat.detach(), block),
      [block](const Gradients& gradients) -> Gradients { return {unpad(gradients[0], block)}; });
}

at::Tensor unpadded(const at::Tensor& values, const PaddedBlock& block) {
  if (!block.ragged()) return values.reshape({block.tokens, values.size(2)});
  GradientRecorder recorder("attention/unpad", {values});
  return recorder.finish(
      unpad(values.detach(), block),
      [block](const Gradients& gradients) -> Gradients { return {pad(gradients[0], block)}; });
}

at::Tensor padding_mask(const PaddedBlock& block) {
  if (!block.ragged()) return {};
  at::Tensor mask = at::zeros({block.sequences, 1, 1, block.length}, at::kBool);
  std::int64_t sequence = 0;
  for (const TokenBlock& part : block.parts) {
    mask.narrow(0, sequence, part.sequences).narrow(3, 0, part.length).fill_(true);
    sequence += part.sequences;
  }
  return mask;
}

std::vector<std::int64_t> sequence_lengths(std::span<const TokenBlock> blocks) {
  std::vector<std::int64_t> lengths;
  for (const TokenBlock& block : blocks) {
    lengths.insert(lengths.end(), static_cast<std::size_t>(block.sequences), block.length);
  }
  return lengths;
}

TokenLayout TokenLayout::part(std::int64_t first, std::int64_t last) const {
  const std::vector<std::int64_t> all = sequence_lengths(blocks);
  const std::span<const std::int64_t> lengths(all);
  TokenLayout result = of_lengths(
      lengths.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
  result.first_token = std::accumulate(lengths.begin(), lengths.begin() + first, first_token);
  result.first_sequence = first_sequence + first;
  result.longest_of_all = std::max(longest, longest_of_all);
  return result;
}

}  // namespace roformer
