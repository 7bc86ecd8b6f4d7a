// The settings that a run or a checkpoint stored, and those with which a run goes on.
#pragma once

#include <filesystem>
#include <vector>

#include "config/assignment.h"
#include "config/schema.h"
#include "config/settings.h"

namespace roformer {

// As they were resolved; its paths are absolute, and those of a run that was copied or moved are of
// where it was found (config/stored_place.h). Throws Error (failure) for what is no run and no
// checkpoint, and for a file that was damaged.
Settings read_run_settings(const std::filesystem::path& run_or_checkpoint);

// Whether a run may go on with another value of the key. What a translator's validations decode by
// may not where that ranks its checkpoints: the next figure would be another measure than the best
// one so far.
bool may_change_when_resumed(const Key& key, const Settings& stored);

// The settings with which the run that the file and the flags name goes on: those it stored, with
// the flags. Of the file only the run's name counts; a key of it that says something else than the
// stored settings is a warning with both values. Throws Error (usage) where there is no such run,
// and for a flag that changes anything but the keys that may change (training.steps, how often it
// logs, validates and saves, what it keeps, what helps against divergence, where the data are,
// device, threads).
Settings resumed_settings(const std::filesystem::path& file, const std::vector<Override>& flags);

}  // namespace roformer
