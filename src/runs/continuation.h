// What a run that goes on was begun with, and whether that is what it would go on with.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"

namespace roformer {

struct Continuation {
  bool goes_on = false;          // a run is there, and goes on
  bool has_checkpoints = false;  // from one of them
  nlohmann::json record;         // its run.json; null where there is none, or not yet

  bool is_recorded() const { return !record.is_null(); }
};

// Throws Error for a run that cannot go on: an average, one whose data are not there, one that is
// longer already than it should become.
Continuation look_at_run(const Settings& settings, ExistingRun existing);

// `data` as run.json has them. Other data, another model to start from or another precision would
// go on silently with other numbers: throws Error (usage).
void require_same(const Continuation& continuation, const nlohmann::json& data,
                  const Settings& settings, const ComputePlan& plan);

// Micro-batches of a step, of all processes: as many as it was begun with. Throws Error (usage)
// where these processes cannot share them.
std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes);

}  // namespace roformer
