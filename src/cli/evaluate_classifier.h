// `roformer evaluate` for a run of a GLUE task: the benchmark's metrics on its validation set, and
// the mistakes that the model is surest of.
#pragma once

#include <cstdint>
#include <string>

#include "runs/trained_model.h"

namespace roformer {

struct ClassifierEvaluation {
  std::string data;     // GLUE folder; empty: the one that it was trained on
  std::string against;  // another run on the same examples; empty: none
  TrainedModelOptions opening;
  std::int64_t errors = 0;  // mistakes to show
  bool json = false;
};

// Prints to standard output.
void evaluate_classifier(const TrainedClassifier& trained, const ClassifierEvaluation& options);

}  // namespace roformer
