// Training of a tagger: each word of a sentence gets a tag (entities, parts of speech).
#pragma once

#include "tasks/tagging/tagger.h"
#include "tasks/tagging/tagging_data.h"
#include "tasks/task_definition.h"

namespace roformer {

// Warns of words whose tags are no classes: they count as wrong and have no loss.
void warn_of_foreign_tags(const TaggedSet& set, const std::vector<std::string>& classes);

EvaluationResult evaluate_tagger(OpenedRun run, const EvaluationRequest& request);
void predict_tags(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
