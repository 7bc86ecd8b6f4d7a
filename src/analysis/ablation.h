// The loss of a trained model when what one head, one layer or all layers know of positions is
// switched off at evaluation. Nothing is trained anew: it tells what this model relies on, not what
// it could do without.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/attention_record.h"
#include "attention/attend.h"

namespace roformer {

// Which heads lose their positions; none: all of the layer, or of the model.
struct AblatedPart {
  std::optional<std::int64_t> layer, head;
};

// Attention without positions in the heads of a part, as position/one_position.h says; where the
// scheme adds something to the embedding, queries and keys lose their means at each position, too.
// A scheme with terms of content whose scores do not change by that counts positions by the
// content: its heads are left with q.k alone.
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

// What that is for the hooks that a scheme has, in words: one line each; none where it has no
// positions to switch off.
std::vector<std::string> ablation_in_words(const PositionScheme& scheme, bool adds_to_embedding,
                                           bool rotates);

// The losses of texts: the sum of each row (or sentence), and the number of its targets.
struct RowLosses {
  std::vector<double> sums;
  std::vector<std::int64_t> targets;
};

// Second minus first, nats a target, and its standard error by the texts.
struct LossChange {
  double change = 0;
  double standard_error = 0;  // NaN for one row
  double reach = 0;           // of Student's 95 % interval, to either side; likewise
};
LossChange loss_change(const RowLosses& first, const RowLosses& second);

}  // namespace roformer
