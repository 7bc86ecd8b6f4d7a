// Cross-attention from one flat batch of tokens to another: the queries of sequence i see all of
// sequence i of a memory (the source text of a translator). The memory's keys and values are
// computed once and serve every decoding step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "attention/attend.h"
#include "config/attention_settings.h"
#include "position/scheme.h"
#include "tensor/operations.h"
#include "tensor/tiled_attention.h"
#include "tensor/token_layout.h"

namespace roformer {

struct CrossAttentionInputs {
  at::Tensor query;  // [T, H * D], biased; T tokens of the sequences in the memory's order
  std::int64_t heads = 0;
  std::int64_t layer = 0;
  const PositionScheme& scheme;  // only its rotations and scale are used
  // Positions of the queries of one sequence. With a multiple of that many queries, the sequence
  // has several texts side by side (beams).
  Positions positions;
  bool training = false;
  at::ScalarType type = at::kFloat;  // of tables
  DropoutSpec dropout;               // of the probabilities
  bool exact_gradient = false;       // training.attention_gradient
};

// Asks a decoder's pass for the attention probabilities of one layer.
struct CrossAttentionRequest {
  std::int64_t layer = 0;
  // Filled by the pass. For each pair of sequences [Lq, Lk] float: the mean of the heads'
  // probabilities; rows sum to 1.
  std::vector<at::Tensor> probabilities;
};

class CrossMemory {
 public:
  // Training: `queries` has one sequence for each of the memory's. Without rotations and dropout
  // each pair is computed without padding; otherwise neighbours of similar length are padded into
  // one call.
  CrossMemory(const TokenLayout& memory, const TokenLayout& queries);
  // Decoding: all sequences in one call, with one row of queries each until reorder().
  explicit CrossMemory(const TokenLayout& memory);

  // Adds the next layer's biased keys and values of the memory's S tokens, packed [S, 2 * H * D].
  void add_layer(const at::Tensor& packed, std::int64_t heads, const PositionScheme& scheme,
                 at::ScalarType table_type);

  // Decoding: row i continues the old row rows[i]. Rows of one sequence are fastest when adjacent.
  // A sequence without rows is dropped from the memory.
  void reorder(std::span<const std::int64_t> rows);
  // The number of calls that a padded attention makes.
  std::int64_t calls() const { return static_cast<std::int64_t>(groups_.size()); }

  // -> [T, H * D]
  at::Tensor attend(const CrossAttentionInputs& inputs) const;
  // The probabilities of attend(), as in CrossAttentionRequest. Not while decoding.
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
  std::vector<AttentionSegment> segments_;     // while training
  std::vector<at::Tensor> packed_;             // while training: of each layer, [S, 2 * H * D]

  bool decoding() const { return segments_.empty(); }
  void hide_padding(Group& group, const at::TensorOptions& options) const;
  void select(std::span<const std::int64_t> sequences);
  // The rows of a group's tokens, [tokens, 2 * H * D], padded and rotated.
  KeyValue keys_and_values(const Group& group, const at::Tensor& rows, std::int64_t heads,
                           const PositionScheme& scheme, at::ScalarType table_type) const;
  // One layer's keys and values for each group.
  std::vector<KeyValue> layer(const CrossAttentionInputs& inputs) const;
  bool can_tile(const CrossAttentionInputs& inputs) const;
  at::Tensor tiled(const CrossAttentionInputs& inputs) const;
  AttentionContext context_of(const Group& group, const PaddedBlock& queries,
                              const CrossAttentionInputs& inputs, at::Device device) const;
  at::Tensor attend(const Group& group, const KeyValue& memory, const PaddedBlock& queries,
                    const CrossAttentionInputs& inputs, const at::Tensor& query) const;
};

}  // namespace roformer
