// One training from its settings: opens the data, builds the task, makes the run's folder and hands
// both to the trainer. The door for the command line and for studies.
#pragma once

#include <filesystem>
#include <vector>

#include "config/assignment.h"
#include "config/schema.h"
#include "config/settings.h"
#include "distributed/processes.h"
#include "training/run_directory.h"
#include "training/training_summary.h"

namespace roformer {

// Trains settings.runs/settings.run. With ExistingRun::resume the settings are the stored ones, as
// resumed_settings gives them, and the data, their tokenizer and the precision must be those that
// run.json names. Throws Error before anything is written when something is wrong.
//
// Each of several processes makes the same call; the first writes the run. A step then has
// training.accumulation micro-batches of each process. A run goes on with as many micro-batches a
// step as it was begun with, shared by however many processes there are now.
TrainingSummary train_run(const Settings& settings, ExistingRun existing, Processes& processes);
TrainingSummary train_run(const Settings& settings, ExistingRun existing);  // one process

// The resolved settings that a run or a checkpoint stored; its paths are absolute.
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
