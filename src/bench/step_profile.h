// Where a benchmark's step spends its time, in a table that says which part is worth work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/profile.h"

namespace roformer {

// Part of a step. `calls` are those of its operations, a step.
struct StepPart {
  std::string name;
  double milliseconds = 0;  // a step
  double share = 0;         // of the step's time
  double calls = 0;
};

struct StepProfile {
  double milliseconds = 0;  // a step, while the profile was made
  // Matrix products, attention, rotations, elementwise work, loss, embeddings, optimiser, copies,
  // other operations, and what lies between operations (batches, graph, allocation). The longest
  // first; they sum to the step.
  std::vector<StepPart> parts;
  std::vector<StepPart> operations;  // the longest single ones
  // Of the cores that were offered: threads waiting for others; of a GPU: nothing to do.
  double idle_share = 0;
};

StepProfile step_profile(const OperationProfile& profile, std::int64_t steps, std::int64_t threads);

}  // namespace roformer
