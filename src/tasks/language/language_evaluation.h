// Evaluates a language model on a split: loss, accuracy, losses by position and by row, bits. Also
// compares two models on the same targets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attention/linear_attention.h"
#include "config/settings.h"
#include "data/dataset.h"
#include "metrics/statistics.h"
#include "tasks/language/arrangement.h"
#include "tasks/language/language_batches.h"
#include "tasks/language/language_model.h"
#include "tasks/shared_batches.h"
#include "training/distributed/processes.h"

namespace roformer {

struct LanguageEvaluation {
  double loss = 0;  // mean negative log likelihood of the targets, nats
  // The standard error of the loss, with the rows of text as the sample. NaN for one row.
  double standard_error = 0;
  double accuracy = 0;  // share of the targets that are the most likely piece
  std::int64_t targets = 0;
  std::int64_t tokens = 0;  // that went through the model
  // For each position of a row in the original text: the mean loss (NaN without targets) and the
  // number of targets.
  std::vector<double> losses_by_position;
  std::vector<std::int64_t> targets_by_position;
  // For each row in order: the sum of its targets' losses, and the number of targets.
  std::vector<double> loss_sums_by_row;
  std::vector<std::int64_t> targets_by_row;
  Split split = Split::validation;
  std::optional<DenominatorFigures> denominators;  // of linear attention
  // XXH3 of the labels and their positions; 0 where several processes share the batches.
  std::uint64_t targets_fingerprint = 0;
};

struct EvaluationOptions {
  std::int64_t length = 0;  // of the rows; 0: data.length
  std::int64_t tokens = 0;  // at most; 0: data.validation_tokens
  Split split = Split::validation;
  ArrangementSettings arrangement = {};
  WorkProgress progress = {};  // in batches
};

// A split in rows of this length, in order.
std::unique_ptr<LanguageBatches> ordered_batches(const Settings& settings, const Dataset& dataset,
                                                 Split split, std::int64_t length);
// Throws Error (failure) for a validation split without targets, before the training instead of at
// its first validation.
void require_targets(const LanguageBatches& batches, const Settings& settings,
                     const Dataset& dataset);

// Evaluates such batches. The processes share them, and each returns the figures of all.
LanguageEvaluation evaluate_language_batches(const LanguageModel& model, const Settings& settings,
                                             const Dataset& dataset, const LanguageBatches& batches,
                                             const EvaluationOptions& options,
                                             Processes& processes);
// A split with the same fixed masks in every run. Throws Error (usage) if the set has no such
// split.
LanguageEvaluation evaluate_language_model(const LanguageModel& model, const Settings& settings,
                                           const Dataset& dataset,
                                           const EvaluationOptions& options = {});

// The loss of the evaluation in bits per character (or byte) of its split's text. It compares
// causal models with different vocabularies.
double bits_of_character(const LanguageEvaluation& evaluation, const Dataset& dataset);
double bits_of_byte(const LanguageEvaluation& evaluation, const Dataset& dataset);
// Warns if the data set's count of characters does not fit its tokenizer.
void warn_of_line_ends(const Dataset& dataset);

struct PairedLosses {
  double difference = 0;  // second minus first, nats a target: negative where the second is better
  double standard_error = 0;  // of the difference, by the rows of text
  Interval interval;          // Student's, 95 %
  double p_value = 1;         // two-sided; 1 if it is not defined
  std::int64_t targets = 0;
  std::int64_t rows = 0;
};

// Throws Error (usage) if the two models were not evaluated on the same targets.
PairedLosses compare_losses(const LanguageEvaluation& first, const LanguageEvaluation& second);

struct PseudoPerplexityOptions {
  Split split = Split::validation;
  std::int64_t sequences = 16;  // rows of the split, from its beginning
  std::int64_t length = 128;    // of a row
  bool cross_documents = true;  // as data.cross_documents
  std::int64_t shift = 0;       // the text begins at this position
};

struct PseudoPerplexity {
  std::int64_t sequences = 0;  // rows that there were
  std::int64_t tokens = 0;     // that were masked: all but the special ones
  double loss = 0;             // mean negative pseudo-log-likelihood of a token, nats
  double value = 0;            // exp(loss)
};

// Shows its progress on standard error. Throws Error (failure) if the split fills no row, and
// ValidationStopped (training/signals.h).
PseudoPerplexity pseudo_perplexity(const LanguageModel& model, const Dataset& dataset,
                                   const PseudoPerplexityOptions& options);

}  // namespace roformer
