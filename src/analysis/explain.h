// Analyses the self-attention of a trained language model or translator on real text: what the
// scores depend on, where the attention goes, which frequencies are used, and the loss without
// positions. explain_report.h shows the results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ablation.h"
#include "analysis/attention_record.h"
#include "analysis/explained_texts.h"
#include "analysis/score_shares.h"
#include "config/settings.h"

namespace roformer {

struct ExplainedLayer {
  std::string stack;        // "encoder", "decoder"; empty where the model has one stack
  std::int64_t number = 0;  // in the stack

  std::string name() const;   // "3", "encoder 3"
  std::string title() const;  // "layer 3", "encoder layer 3"
};

struct HeadExplanation {
  ExplainedLayer layer;
  std::int64_t head = 0;
  ScoreShares shares;
  LossChange without_positions;
};

struct LayerExplanation {
  ExplainedLayer layer;
  AttentionMasses masses;
  std::optional<FrequencyUse> frequencies;
  LossChange without_positions;
  std::vector<HeadExplanation> heads;
};

struct Explanation {
  std::string texts;                                    // "64 rows of 512 tokens"
  std::int64_t sequences = 0, length = 0, targets = 0;  // length: of the longest text
  double loss = 0, standard_error = 0;
  std::vector<std::string> ablation;  // what was switched off, in words
  bool ablated = false;
  LossChange without_positions;  // in all layers
  struct StackChange {
    std::string stack;
    LossChange without_positions;  // in all of its layers
  };
  std::vector<StackChange> stacks;       // of a model with several
  std::vector<LayerExplanation> layers;  // of all stacks in order
};

// Throw Error: usage for linear attention, which computes no scores, and for texts longer than the
// scheme has positions; failure for a split without enough text or without a target.
Explanation explain(const TrainedModel& model, const Dataset& dataset,
                    const ExplainOptions& options);
Explanation explain(const TrainedTranslator& translator, const ParallelDataset& dataset,
                    const ExplainOptions& options);

// Throws Error (usage) for linear attention alone, before any text is read. `run`: its name.
void require_explainable(const Settings& settings, const std::string& run);

}  // namespace roformer
