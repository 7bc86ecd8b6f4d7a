// Attention of one flat batch of tokens to another: the queries of sequence i see all of sequence i
// of a memory, in a translator the source text. A memory's keys and values are made once and serve
// every step of decoding.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "attention/attend.h"
#include "attention/padded_block.h"
#include "config/attention_settings.h"
#include "position/scheme.h"
#include "tensor/operations.h"
#include "tensor/tiled_attention.h"

namespace roformer {

struct CrossAttentionInputs {
  at::Tensor query;  // [T, H * D], biased; T tokens of the sequences in the memory's order
  std::int64_t heads = 0;
  std::int64_t layer = 0;
  const PositionScheme& scheme;  // of which only rotations and the scale take part
  // Of the queries of a sequence. Where it has several times as many, they are texts side by side.
  Positions positions;
  bool training = false;
  at::ScalarType type = at::kFloat;  // of tables
  DropoutSpec dropout;               // of the probabilities
};

// What a pass through a decoder is asked to tell of one layer's attention to the memory.
struct CrossAttentionRequest {
  std::int64_t layer = 0;
  // Of each pair of sequences [Lq, Lk] float, rows summing to 1: the mean of the heads'
  // probabilities.
  std::vector<at::Tensor> probabilities;
};

class CrossMemory {
 public:
  // Training: `queries` has a sequence for each of the memory's. Without rotations and dropout each
  // pair is computed as it lies; else neighbours whose lengths are close are padded to one call.
  CrossMemory(const TokenLayout& memory, const TokenLayout& queries);
  // Decoding: all sequences in one call, each asked by one row of tokens, until reorder().
  explicit CrossMemory(const TokenLayout& memory);

  // Of the next layer: packed [S, 2 * H * D], keys and values of the memory's S tokens, biased.
  void add_layer(const at::Tensor& packed, std::int64_t heads, const PositionScheme& scheme,
                 at::ScalarType table_type);

  // Decoding: row i goes on from row rows[i]. Rows of one sequence best stand together. A sequence
  // that is left without rows leaves the memory.
  void reorder(std::span<const std::int64_t> rows);
  // How many calls a padded attention takes.
  std::int64_t calls() const { return static_cast<std::int64_t>(groups_.size()); }

  // -> [T, H * D]
  at::Tensor attend(const CrossAttentionInputs& inputs) const;
  // What attend() weighs the values by, as CrossAttentionRequest has it. Not while decoding.
  std::vector<at::Tensor> mean_probabilities(const CrossAttentionInputs& inputs) const;

 private:
  // Neighbours in one call.
  struct Group {
    PaddedBlock memory;
    PaddedBlock queries;           // empty while decoding: by the rows
    at::Tensor mask;               // bool [B, 1, 1, L], true = visible, or undefined
    at::Tensor additive;           // the same as 0 and -infinity
    std::vector<KeyValue> layers;  // [B, H, L, D]; while decoding
  };
  std::vector<Group> groups_;
  std::vector<std::int64_t> sequence_of_row_;  // while decoding
  std::vector<AttentionSegment> segments_;     // while training, as what follows
  std::vector<at::Tensor> packed_;             // of each layer, [S, 2 * H * D]

  bool decoding() const { return segments_.empty(); }
  void hide_padding(Group& group, const at::TensorOptions& options) const;
  void select(std::span<const std::int64_t> sequences);
  // The rows of a group's tokens, [tokens, 2 * H * D], padded and rotated.
  KeyValue keys_and_values(const Group& group, const at::Tensor& rows, std::int64_t heads,
                           const PositionScheme& scheme, at::ScalarType table_type) const;
  // Of a layer, group by group.
  std::vector<KeyValue> layer(const CrossAttentionInputs& inputs) const;
  bool can_tile(const CrossAttentionInputs& inputs) const;
  at::Tensor tiled(const CrossAttentionInputs& inputs) const;
  AttentionContext context_of(const Group& group, const PaddedBlock& queries,
                              const CrossAttentionInputs& inputs, at::Device device) const;
  at::Tensor attend(const Group& group, const KeyValue& memory, const PaddedBlock& queries,
                    const CrossAttentionInputs& inputs, const at::Tensor& query) const;
};

}  // namespace roformer
