// One training from its settings: opens the data, builds the task, makes the run's folder and hands
// both to the trainer. The door for the command line and for studies.
#pragma once

#include "config/settings.h"
#include "training/run_directory.h"
#include "training/training_summary.h"

namespace roformer {

// Trains settings.runs/settings.run. With ExistingRun::resume the settings are the stored ones, as
// read_run_settings gives them. Throws Error before anything is written when something is wrong.
TrainingSummary train_run(const Settings& settings, ExistingRun existing);

// The resolved settings that a run or a checkpoint stored; its paths are absolute.
Settings read_run_settings(const std::filesystem::path& run_or_checkpoint);

// The settings with which a stored run goes on: those stored, with the given changes. Throws Error
// (usage) for a change of anything but the keys that may change (training.steps, how often it logs,
// validates and saves, what it keeps, device, threads, loader threads).
Settings resumed_settings(const Settings& stored, const Settings& wanted);

}  // namespace roformer
