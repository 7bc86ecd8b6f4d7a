// Fine-tuning on a task of the GLUE benchmark: data, classifier, loss and metrics for the trainer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/glue.h"
#include "data/text_pairs.h"
#include "tasks/classification/glue_figures.h"
#include "tasks/classifier.h"
#include "tasks/task_definition.h"
#include "text/tokenizer.h"

namespace roformer {

// A split with its texts as ids.
struct GlueSet {
  GlueExamples source;
  std::vector<EncodedText> texts;  // [examples]
};
// Reads data.directory and cuts to data.length, with a warning that says how many were cut. Throws
// as read_glue does.
GlueSet load_glue_set(const Settings& settings, const Tokenizer& tokenizer, GlueSplit split);

// The classifier of a task: outputs for its classes, or one for a score.
ClassifierShape glue_shape(const GlueSettings& settings);

// The splits that a task is validated on: one, or MNLI's two.
std::vector<GlueSplit> validation_splits(GlueTask task);

EvaluationResult evaluate_classifier(OpenedRun run, const EvaluationRequest& request);
void predict_labels(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
