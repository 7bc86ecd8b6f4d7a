// Analyses the self-attention of a trained language model or translator on real text: the causes of
// the scores, the targets of the attention, the frequencies in use, and the loss without positions.
// explain_report.h shows the results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/attention_record.h"
#include "analysis/score_shares.h"
#include "attention/attend.h"
#include "config/settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"
#include "model/transformer_stack.h"
#include "runs/trained_model.h"
#include "tasks/language/language_model.h"
#include "tasks/translation/translator.h"

namespace roformer {

// --- Texts ---
//
// A trained model with the texts that it is explained on. Beyond these structures, language models
// on rows of text and translators on pairs of sentences are the same.

struct ExplainOptions {
  std::int64_t sequences = 64;  // rows of the split, or pairs, spread evenly over it
  std::int64_t length = 0;      // tokens of a row; 0: data.length
  Split split = Split::validation;
  bool ablations = true;
};

struct ExplainedStack {
  std::string name;  // a translator's stack: "encoder", "decoder"; empty if there is only one
  const TransformerStack* stack = nullptr;
  std::int64_t tokens = 0;                // of all texts
  std::int64_t longest = 0;               // tokens of a text
  std::vector<std::int64_t> same_tokens;  // positions where all texts hold the same token
};

// For each text (row or sentence), the sum of its losses and the number of its targets.
struct RowLosses {
  std::vector<double> sums;
  std::vector<std::int64_t> targets;
};

struct ExplainedTexts {
  std::vector<ExplainedStack> stacks;
  std::int64_t sequences = 0;
  std::int64_t longest = 0;              // tokens of a text
  std::string in_words;                  // "64 rows of 512 tokens"
  std::string folder;                    // of the data
  std::int64_t frequency_sequences = 0;  // texts that the use of rotary frequencies is measured on
  // One observer for each stack, null if a stack is not observed. Empty: no stack is.
  std::function<RowLosses(std::span<AttentionObserver* const>)> losses;
};

// The model and the data must outlive the result. Throw Error: usage for texts longer than the
// scheme has positions, failure for a split without enough text.
ExplainedTexts rows_of_text(const TrainedModel& trained, const Dataset& dataset,
                            const ExplainOptions& options);
// Whole sentences, at most as long as those of the training; options.length has no effect.
ExplainedTexts sentence_pairs(const TrainedTranslator& trained, const ParallelDataset& dataset,
                              const ExplainOptions& options);

// --- Results ---

struct ExplainedLayer {
  std::string stack;        // "encoder", "decoder"; empty if the model has one stack
  std::int64_t number = 0;  // in the stack

  std::string name() const;   // "3", "encoder 3"
  std::string title() const;  // "layer 3", "encoder layer 3"
};

// The second minus the first, in nats per target, and its standard error over the texts.
struct LossChange {
  double change = 0;
  double standard_error = 0;  // NaN for one row
  double reach = 0;           // of Student's 95 % interval, to either side; NaN for one row
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
  std::vector<std::string> ablation;  // the parts that were switched off, in words
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

// Throws Error (usage) for a model with only linear attention, before any text is read. `run`: its
// name.
void require_explainable(const Settings& settings, const std::string& run);

}  // namespace roformer
