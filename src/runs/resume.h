// Looks at a run that is to be resumed: whether it can be, and whether its data, its start and its
// precision are those of its record (run.json), by the rules of resume_rules.h.
#pragma once

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "tensor/device.h"
#include "training/run_directory.h"

namespace roformer {

// The state in which a training finds the run's folder.
struct Continuation {
  bool resumes = false;          // the run exists and is to be resumed
  bool has_checkpoints = false;  // the run has one to start from
  nlohmann::json record;         // its run.json; null if it is missing

  bool is_recorded() const { return !record.is_null(); }
};

// Throws Error for a run that cannot be resumed: an average of checkpoints, a run without its data,
// or a run that is already longer than training.steps.
Continuation look_at_run(const Settings& settings, ExistingRun existing);

// Compares the run's record with the present data (`data`, in run.json's form), start and
// precision. Throws Error (usage) for a difference that the rules refuse.
void require_same(const Continuation& continuation, const nlohmann::json& data,
                  const Settings& settings, const ComputePlan& plan);

}  // namespace roformer
