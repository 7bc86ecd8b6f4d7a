// Pads sequences of different lengths into one block for operations that need equal lengths.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/token_layout.h"

namespace roformer {

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
