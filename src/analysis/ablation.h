// The loss of a trained model when one head, one layer or all layers are evaluated without
// positions. Nothing is trained again: the result says what this model relies on, not what a model
// needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/attention_record.h"
#include "attention/attend.h"

namespace roformer {

// The heads that lose their positions; without a number, all of the layer or of the model.
struct AblatedPart {
  std::optional<std::int64_t> layer, head;
};

// Attention without positions in the heads of a part, as position/one_position.h defines it. If the
// scheme adds something to the embedding, queries and keys also lose their means at each position.
// A scheme with content terms whose scores this does not change counts positions by the content;
// its heads then keep q.k alone.
class PositionAblation : public AttentionObserver {
 public:
  // `means` of all layers, or empty: nothing is taken from queries and keys.
  PositionAblation(const AblatedPart& part, std::span<const PositionMeans> means)
      : part_(part), means_(means) {}

  bool wants(std::int64_t layer) const override { return !part_.layer || *part_.layer == layer; }
  at::Tensor attend(const AttendInputs& inputs, const at::Tensor& token_inputs) override;

 private:
  AblatedPart part_;
  std::span<const PositionMeans> means_;
};

// What the ablation does to each hook of the scheme, in words; empty where it has no positions.
std::vector<std::string> ablation_in_words(const PositionScheme& scheme, bool adds_to_embedding,
                                           bool rotates);

// For each text (row or sentence) the sum of its losses and the number of its targets.
struct RowLosses {
  std::vector<double> sums;
  std::vector<std::int64_t> targets;
};

// Second minus first, nats a target, and its standard error by the texts.
struct LossChange {
  double change = 0;
  double standard_error = 0;  // NaN for one row
  double reach = 0;           // of Student's 95 % interval, to either side; NaN for one row
};
LossChange loss_change(const RowLosses& first, const RowLosses& second);

}  // namespace roformer
