// Looks into the attention of a trained language model on real rows of text: what the scores depend
// on, where the attention goes, which frequencies are used, and what the loss is without positions.
// The computing; explain_report.h shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "explain/ablation.h"
#include "explain/attention_record.h"
#include "explain/score_shares.h"
#include "runs/trained_model.h"

namespace roformer {

struct ExplainOptions {
  std::int64_t sequences = 64;  // rows of the split, spread evenly over it
  std::int64_t length = 0;      // tokens of a row; 0: data.length
  Split split = Split::validation;
  bool ablations = true;
};

struct HeadExplanation {
  std::int64_t layer = 0, head = 0;
  ScoreShares shares;
  LossChange without_positions;
};

struct LayerExplanation {
  AttentionMasses masses;
  std::optional<FrequencyUse> frequencies;
  LossChange without_positions;
  std::vector<HeadExplanation> heads;
};

struct Explanation {
  std::int64_t sequences = 0, length = 0, targets = 0;
  double loss = 0, standard_error = 0;
  std::vector<std::string> ablation;  // what was switched off, in words
  bool ablated = false;
  LossChange without_positions;  // in all layers
  std::vector<LayerExplanation> layers;
};

// Throws Error: usage for linear attention, which makes no scores, and for rows longer than the
// scheme has positions; failure for a split that does not fill one row or has no target.
Explanation explain(const TrainedModel& model, const Dataset& dataset,
                    const ExplainOptions& options);

}  // namespace roformer
