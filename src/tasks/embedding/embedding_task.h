// What the definition of the task embedding uses of its other files.
#pragma once

#include "tasks/task_definition.h"

namespace roformer {

// roformer evaluate and roformer predict.
EvaluationResult evaluate_embedder(OpenedRun run, const EvaluationRequest& request);
void predict_cosines(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
