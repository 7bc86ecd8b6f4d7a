// Fine-tuning a classifier, on labelled files of the user (classification) or on a task of the GLUE
// benchmark (glue): data, loss and metrics for the trainer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/glue.h"
#include "data/labelled_texts.h"
#include "data/text_pairs.h"
#include "tasks/classification/classification_figures.h"
#include "tasks/classification/targets.h"
#include "tasks/task_definition.h"
#include "tasks/text_model.h"
#include "text/tokenizer.h"

namespace roformer {

// Labelled examples with their texts as ids.
struct EncodedSet {
  std::string name;    // "MRPC", "MNLI (mismatched)", "reviews.csv"
  std::string suffix;  // of its figures: "_mismatched" for MNLI's second set
  LabelledTexts source;
  std::vector<EncodedText> texts;  // [examples]
};

// The data of a training, cut to data.length with a warning that says how many were cut.
struct EncodedSplits {
  EncodedSet training;
  std::vector<EncodedSet> validation;  // one, or MNLI's two
};
EncodedSplits load_splits(const Settings& settings, const Tokenizer& tokenizer);
// Only the validation sets.
std::vector<EncodedSet> load_validation_sets(const Settings& settings, const Tokenizer& tokenizer);
// A split of a GLUE task. Throws as read_glue does.
EncodedSet load_glue_set(const Settings& settings, const Tokenizer& tokenizer, GlueSplit split);

// The splits that a GLUE task is validated on: one, or MNLI's two.
std::vector<GlueSplit> validation_splits(GlueTask task);

EvaluationResult evaluate_classifier(OpenedRun run, const EvaluationRequest& request);
void predict_labels(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
