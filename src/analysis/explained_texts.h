// A trained model with the texts that it is explained on: the stacks whose attention is observed,
// and the losses under observation. Beyond this file, language models on rows of text and
// translators on pairs of sentences are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ablation.h"
#include "attention/attend.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"
#include "model/transformer_stack.h"
#include "runs/trained_model.h"
#include "tasks/language/language_model.h"
#include "tasks/translation/translator.h"

namespace roformer {

struct ExplainOptions {
  std::int64_t sequences = 64;  // rows of the split, or pairs, spread evenly over it
  std::int64_t length = 0;      // tokens of a row; 0: data.length
  Split split = Split::validation;
  bool ablations = true;
};

struct ExplainedStack {
  std::string name;  // of a translator: "encoder", "decoder"; empty where there is one only
  const TransformerStack* stack = nullptr;
  std::int64_t tokens = 0;                // of all texts
  std::int64_t longest = 0;               // tokens of a text
  std::vector<std::int64_t> same_tokens;  // positions where all texts hold the same token
};

struct ExplainedTexts {
  std::vector<ExplainedStack> stacks;
  std::int64_t sequences = 0;
  std::int64_t longest = 0;              // tokens of a text
  std::string in_words;                  // "64 rows of 512 tokens"
  std::string folder;                    // of the data
  std::int64_t frequency_sequences = 0;  // texts that the use of rotary frequencies is measured on
  // One observer for each stack, null where a stack is not observed; empty: none is.
  std::function<RowLosses(std::span<AttentionObserver* const>)> losses;
};

// The model and the data must outlive the result. Throw Error: usage for texts longer than the
// scheme has positions, failure for a split without enough text.
ExplainedTexts rows_of_text(const TrainedModel& trained, const Dataset& dataset,
                            const ExplainOptions& options);
// Whole sentences, at most as long as those of the training; options.length has no effect.
ExplainedTexts sentence_pairs(const TrainedTranslator& trained, const ParallelDataset& dataset,
                              const ExplainOptions& options);

}  // namespace roformer
