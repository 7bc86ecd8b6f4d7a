// Resumes a run: reads its stored settings and its record (run.json), and decides by one table of
// rules what may differ now.
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

// The resolved settings of a run or a checkpoint, with absolute paths. If the run was copied or
// moved, its paths point to its present place (put_in_place in config/load.h). Throws Error
// (failure) for a folder that is neither a run nor a checkpoint, and for a damaged file.
Settings read_run_settings(const std::filesystem::path& run_or_checkpoint);

// The table of rules in Markdown, for src/runs/README.md.
std::string resume_rules_table();

// Whether a resumed run may have another value of the key.
bool may_change_when_resumed(const Key& key, const Settings& stored);

// The stored settings of the run that the file and the flags name, changed by the flags. The file
// only names the run: if one of its keys differs from the stored settings, a warning shows both
// values. Throws Error (usage) if there is no such run and for a flag that the rules refuse.
Settings resumed_settings(const std::filesystem::path& file, const std::vector<Override>& flags);

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

// In run.json of runs whose step has training.batch x training.accumulation rows, shared by all
// processes. In a run without it, the step has so many rows of each process that began the run.
inline constexpr const char* kBatchOf = "batch_of";
inline constexpr const char* kBatchOfStep = "step";

// The number of micro-batches in a step over all processes: training.accumulation, or what an older
// run was begun with. Throws Error (usage) if the present processes cannot share the rows of a step
// evenly.
std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes);

}  // namespace roformer
