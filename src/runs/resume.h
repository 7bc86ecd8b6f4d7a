// A run that is resumed: the settings that it stored, what it was begun with (run.json), and the
// one table of rules that says what may differ now.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/schema.h"
#include "config/settings.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"

namespace roformer {

// The resolved settings of a run or a checkpoint. Paths are absolute; those of a run that was
// copied or moved point to where it is now (config/stored_place.h). Throws Error (failure) where
// neither a run nor a checkpoint is there, and for a damaged file.
Settings read_run_settings(const std::filesystem::path& run_or_checkpoint);

// The table of rules in Markdown, as README.md shows it.
std::string resume_rules_table();

// Whether a resumed run may have another value of the key.
bool may_change_when_resumed(const Key& key, const Settings& stored);

// The settings of the run that the file and the flags name: the stored ones with the flags. The
// file only names the run; where a key of it differs from the stored settings, a warning has both
// values. Throws Error (usage) where there is no such run, and for a flag that the rules refuse.
Settings resumed_settings(const std::filesystem::path& file, const std::vector<Override>& flags);

// What training finds in the run's folder.
struct Continuation {
  bool resumes = false;          // a run is there and is to be resumed
  bool has_checkpoints = false;  // it has one to start from
  nlohmann::json record;         // its run.json; null where it is missing

  bool is_recorded() const { return !record.is_null(); }
};

// Throws Error for a run that cannot be resumed: an average of checkpoints, one whose data are
// missing, one that is already longer than training.steps.
Continuation look_at_run(const Settings& settings, ExistingRun existing);

// Compares the run's record with its data (`data`, as run.json has them), start and precision of
// now. Throws Error (usage) for a difference that the rules refuse.
void require_same(const Continuation& continuation, const nlohmann::json& data,
                  const Settings& settings, const ComputePlan& plan);

// Micro-batches of a step over all processes: as many as the run was begun with. Throws Error
// (usage) where these processes cannot share them evenly.
std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes);

}  // namespace roformer
