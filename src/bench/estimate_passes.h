// The passes of a training's stages: the share of each process, the mean micro-batch and its
// arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/estimate_data.h"

namespace roformer {

// How the processes share a step: whole micro-batches as far as they go round, else parts of them.
struct StepShare {
  std::int64_t passes = 1;  // of each process
  std::int64_t parts = 1;   // of a micro-batch
};

// The settings of one pass of one process in a stage.
struct EstimatedPass {
  Settings settings;
  std::int64_t stage = 0;
  double steps = 0;  // 0: by training.steps
  StepShare sharing;
};
// One for each stage. Throws Error (usage) if the processes cannot share a step evenly.
std::vector<EstimatedPass> passes_of(const Settings& settings, std::int64_t processes);

// The mean size of one micro-batch of a stage.
struct MeanBatch {
  double texts = 0;
  double tokens = 0;   // a translator's: of the target
  double targets = 0;  // rows that the last layer computes
};
// The mean over the stage's first micro-batches, divided among the processes that share one.
MeanBatch mean_of_data(const OpenedEstimate& opened, const EstimatedPass& pass);
MeanBatch mean_of_assumptions(const EstimatedPass& pass, const AssumedData& size);

// Forward and backward.
double gflop_of_pass(const Settings& settings, const MeanBatch& batch);

// Layers that store all scores, because their scheme changes them by content and has no tiles for
// it.
std::int64_t layers_with_scores(const Settings& settings, const ComputePlan& plan);

}  // namespace roformer
