// The training of an embedder, and the sets that its run is measured on.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "tasks/task_definition.h"

namespace roformer {

OpenedTask open_embedding_task(const TaskSources& sources);
nlohmann::json embedding_data_record(const Settings& settings);

// roformer evaluate and roformer predict.
EvaluationResult evaluate_embedder(OpenedRun run, const EvaluationRequest& request);
void predict_cosines(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
